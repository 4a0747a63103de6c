"""Who may see what of a conversation: grants, and the one that counts for a server in a project. Pure.

Without a grant a server sees nothing. A grant names the server, what it is (a digest of its command or
url: a config that changes is asked about again), the scopes and the project; the grant of the innermost
project counts, and one without scopes means off here. The key makes ids that two servers cannot compare.
"""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from hashlib import sha256

import msgspec

from tidings.core.producers import shown
from tidings.errors import CallerError
from tidings.mcp.config import Server
from tidings.mcp.conversation.names import SCOPES, Scope

VERSION = 1
_ID_DIGITS = 32


class ConsentError(CallerError):
    """Consents that cannot be read or changed; until that is mended nobody is asked."""


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """The user's word that one server may see something. `project` None: everywhere.

    `what` says to people what `target` stands for. Of several servers those with the higher `priority` come
    first.
    """

    server: str
    target: str
    what: str = ""
    project: str | None = None
    scopes: tuple[Scope, ...] = ("message",)
    granted_at_ms: int = 0
    priority: int = 0

    def __post_init__(self) -> None:
        if "history" in self.scopes and "message" not in self.scopes:
            raise ConsentError("the scope `history` goes with `message`; grant both")


class Consents(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All grants, and the key of the pairwise ids."""

    key: str = ""
    grants: tuple[Grant, ...] = ()
    version: int = VERSION

    def grant_for(self, server: str, target: str, project: str) -> Grant | None:
        """The grant that counts there; None when there is none, or when it says off."""
        fitting = [
            grant
            for grant in self.grants
            if grant.server == server and grant.target == target and _covers(grant.project, project)
        ]
        innermost = max(fitting, key=lambda grant: len(grant.project or ""), default=None)
        return innermost if innermost is not None and innermost.scopes else None

    def changed_target(self, server: str, target: str, project: str) -> bool:
        """Whether there is a grant for a server of that name which is another program or address."""
        return self.grant_for(server, target, project) is None and any(
            grant.server == server
            and grant.target != target
            and grant.scopes
            and _covers(grant.project, project)
            for grant in self.grants
        )


def with_grant(consents: Consents, grant: Grant) -> Consents:
    """`grant` takes the place of an older one for the same server and project."""
    kept = tuple(one for one in consents.grants if _place(one) != _place(grant))
    return msgspec.structs.replace(consents, grants=(*kept, grant))


def without_server(consents: Consents, server: str) -> tuple[Consents, tuple[Grant, ...]]:
    """No grant for `server` anywhere, and those that were."""
    gone = tuple(one for one in consents.grants if one.server == server)
    kept = tuple(one for one in consents.grants if one.server != server)
    return msgspec.structs.replace(consents, grants=kept), gone


def without_scope(consents: Consents, server: str, scope: Scope) -> tuple[Consents, tuple[Grant, ...]]:
    """`server` may see one thing less everywhere, and the grants as they were; history goes with message.

    A grant of which nothing is left stays as off while another one holds: it would hold there too.
    """
    lost: set[Scope] = {"message", "history"} if scope == "message" else {scope}
    gone = tuple(one for one in consents.grants if one.server == server and scope in one.scopes)
    narrowed = [_narrowed(one, lost) if one in gone else one for one in consents.grants]
    holds = any(one.server == server and one.scopes for one in narrowed)
    kept = [one for one in narrowed if one.server != server or one.scopes or holds]
    return msgspec.structs.replace(consents, grants=tuple(kept)), gone


def _narrowed(grant: Grant, lost: set[Scope]) -> Grant:
    left = tuple(scope for scope in grant.scopes if scope not in lost)
    return msgspec.structs.replace(grant, scopes=left)


def off_in(
    consents: Consents, server: str, project: str, now_ms: int
) -> tuple[Consents, tuple[Grant, ...]]:
    """No grant for `server` in `project` or below it; a wider one stays and is off here."""
    gone = tuple(
        one
        for one in consents.grants
        if one.server == server and one.project is not None and _covers(project, one.project)
    )
    kept = tuple(one for one in consents.grants if one not in gone)
    wider = [one for one in kept if one.server == server and one.scopes and _covers(one.project, project)]
    targets = dict.fromkeys(one.target for one in wider)
    off = tuple(
        Grant(server=server, target=target, project=project, scopes=(), granted_at_ms=now_ms)
        for target in targets
    )
    lost = (*(one for one in gone if one.scopes), *wider)
    return msgspec.structs.replace(consents, grants=(*kept, *off)), lost


def read_scopes(given: Sequence[str]) -> tuple[Scope, ...]:
    """The scopes of that name, `message` among them if nothing else is said.

    Raises:
        ConsentError: an unknown one.
    """
    unknown = [name for name in given if name not in SCOPES]
    if unknown:
        raise ConsentError(f"unknown scope {shown(unknown[0])}; known are {', '.join(SCOPES)}")
    return tuple(scope for scope in SCOPES if scope in (given or ("message",)))


def target_of(server: Server) -> str:
    """What a configured server is: a digest of its url, or of its command and where it runs."""
    return sha256(msgspec.json.encode([server.url, server.command, server.cwd])).hexdigest()


def shown_target(server: Server) -> str:
    """The same for people, without secrets: arguments are left out."""
    return server.url.partition("?")[0] if server.url else server.command[0] if server.command else ""


def pairwise(key: str, target: str, name: str) -> str:
    """An id for `name` that only this server gets: another server's for the same is another."""
    digest = hmac.new(bytes.fromhex(key), msgspec.json.encode([target, name]), sha256)
    return digest.hexdigest()[:_ID_DIGITS]


def read_consents(data: bytes) -> Consents:
    """The consents of a file.

    Raises:
        ConsentError: it is none that we can read.
    """
    try:
        read = msgspec.json.decode(data, type=Consents)
    except (msgspec.DecodeError, UnicodeDecodeError, CallerError) as error:
        raise ConsentError(f"the consents cannot be read: {error}") from None
    if read.version != VERSION:
        raise ConsentError(f"the consents are of version {read.version}; this Tidings reads {VERSION}")
    if read.grants and not _is_key(read.key):
        raise ConsentError("the consents have no `key` of 64 hex digits; grant again")
    return read


def _is_key(text: str) -> bool:
    return len(text) == 64 and all(digit in "0123456789abcdef" for digit in text)


def _place(grant: Grant) -> tuple[str, str | None]:
    return grant.server, grant.project


def _covers(outer: str | None, inner: str) -> bool:
    """Whether the folder `inner` is `outer` or lies in it; None is everywhere."""
    return outer is None or inner == outer or inner.startswith(outer.rstrip("/") + "/")
