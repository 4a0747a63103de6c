"""Whom a reminder is for: one session, everybody in a workspace, everybody with a tag, or all. Pure.

An address is matched against registrations, those there are and those that come before the envelope's
deadline. Only the address of one session makes a delivery before that session is there. Paths are
compared as they are: whoever reads them from outside resolves links first.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePath
from typing import Literal, TypeAlias

import msgspec

from tidings.core.producers import shown
from tidings.errors import CallerError

NAME = msgspec.Meta(min_length=1, max_length=200)

Durability: TypeAlias = Literal["transcript", "request", "unknown"]
"""Where a reminder is once its host acknowledged it: in a transcript that is kept, or in a request."""


LONGEST_PATIENCE = 24 * 3600.0


class Registration(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A session that can be reached: who works there, where, and what its host can do."""

    session_id: str
    agent: str | None = None
    workspace: str | None = None
    tags: tuple[str, ...] = ()
    capabilities: dict[str, object] = msgspec.field(default_factory=dict)
    started_ms: int = 0
    ended_ms: int | None = None

    @property
    def delivery(self) -> Durability:
        """What its host promises about a delivery."""
        said = self.capabilities.get("delivery")
        return said if said in ("transcript", "request") else "unknown"

    @property
    def takes_back(self) -> bool:
        """Whether its host takes back what the session has, when the hub asks for it."""
        return self.capabilities.get("withdraw") is True

    @property
    def patience_ms(self) -> int | None:
        """How long its host may be silent, if it asked for more or less than others."""
        said = self.capabilities.get("patienceSeconds")
        if not isinstance(said, (int, float)) or not 0 < said <= LONGEST_PATIENCE:
            return None
        return int(said * 1000)


class Address(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Whom a reminder is for; exactly one member is given."""

    session: str | None = None
    workspace: str | None = None
    tag: str | None = None
    all: bool = False

    def reaches(self, session: Registration) -> bool:
        """Whether this session is meant."""
        if self.session is not None:
            return session.session_id == self.session
        if self.workspace is not None:
            return session.workspace is not None and _related(self.workspace, session.workspace)
        return self.all or self.tag in session.tags

    def __str__(self) -> str:
        if self.session is not None:
            return f"session {self.session}"
        if self.workspace is not None:
            return f"workspace {self.workspace}"
        return "all sessions" if self.all else f"tag {self.tag}"


def checked(address: Address) -> Address:
    """`address` when it names exactly one thing that can be looked for.

    Raises:
        CallerError: nothing, more than one, a blank name, or a path that is not absolute.
    """
    given = msgspec.to_builtins(address)
    if len(given) != 1:
        told = f"names {' and '.join(given)}" if given else "names nobody"
        raise CallerError(f"`to` {told}; give exactly one of session, workspace, tag, all")
    name, value = next(iter(given.items()))
    if isinstance(value, str) and not value.strip():
        raise CallerError(f"`to.{name}` is {shown(value)}; give a name that is not blank")
    if address.workspace is not None and not PurePath(address.workspace).is_absolute():
        raise CallerError(f"`to.workspace` is {shown(address.workspace)}; give an absolute path")
    return address


def reached(address: Address, sessions: Iterable[Registration]) -> tuple[str, ...]:
    """The ids of the sessions that are meant, among those there are."""
    return tuple(session.session_id for session in sessions if address.reaches(session))


def _related(path: str, workspace: str) -> bool:
    """Whether one of the two folders is, or lies inside, the other."""
    one, other = PurePath(path), PurePath(workspace)
    return one.is_relative_to(other) or other.is_relative_to(one)
