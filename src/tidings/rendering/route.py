"""Routes: what a model route can take, as data. A name gives a `Route`; your own are as good.

The catalogue is `routes.toml` beside this file; `load_routes` adds a file of the same form and
`add_route` one route in code. A route says facts about the wire, never which reminder goes where:
that is `plan.py`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal, TypeAlias, get_args

import msgspec

from tidings.core.reminder import RoleHint
from tidings.errors import RouteError

Wire: TypeAlias = Literal["anthropic", "openai_chat", "openai_responses", "gemini", "plain"]
WIRES: tuple[Wire, ...] = get_args(Wire)
_VERSION = re.compile(r"-\d{1,2}(?:\D|$)")
_DEVELOPER_WIRES = ("openai_chat", "openai_responses", "plain")


class Route(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A model route's capabilities.

    Raises:
        RouteError: an unknown wire, or a developer role on a wire that has none.
    """

    name: str
    wire: Wire
    prefers_role_developer: bool = False
    prefers_xml_scaffolding: bool = False
    prompt_caching: bool = False
    mid_conversation_system: bool = False
    preserved_thinking: bool = False
    context_window: int | None = None

    def __post_init__(self) -> None:
        if self.wire not in WIRES:
            raise RouteError(
                f"route {self.name!r}: `wire` must be one of {', '.join(WIRES)}; got {self.wire!r}"
            )
        if self.prefers_role_developer and self.wire not in _DEVELOPER_WIRES:
            raise RouteError(
                f"route {self.name!r}: the {self.wire} wire has no developer role; "
                "leave out prefers_role_developer"
            )


class _File(msgspec.Struct, forbid_unknown_fields=True):
    route: list[Route]


_added: dict[str, Route] = {}
_catalogue: dict[str, Route] = {}


def catalogue() -> tuple[Route, ...]:
    """Every route known by name, the built-in ones first."""
    return tuple({**_built_in(), **_added}.values())


def _built_in() -> dict[str, Route]:
    if not _catalogue:
        _catalogue.update(_read(Path(__file__).with_name("routes.toml")))
    return _catalogue


def _read(path: Path) -> dict[str, Route]:
    try:
        found = msgspec.toml.decode(path.read_bytes(), type=_File)
    except (OSError, msgspec.DecodeError, RouteError) as error:
        raise RouteError(f"routes cannot be read from {path}: {error}") from error
    return {route.name: route for route in found.route}


def add_route(route: Route) -> Route:
    """Make `route` known by its name in this process; it wins over a built-in one."""
    _added[route.name] = route
    return route


def load_routes(path: str | Path) -> tuple[Route, ...]:
    """Add the routes of a TOML file (`[[route]]` tables with the fields of `Route`).

    Raises:
        RouteError: naming the file and what is wrong in it.
    """
    found = _read(Path(path))
    _added.update(found)
    return tuple(found.values())


def route(name: str) -> Route:
    """The route called `name`. A date or a variant falls back to the longest known beginning.

    Another version is another model: it and every unknown one get their vendor's `vendor/*` route.

    Raises:
        RouteError: nothing fits; near matches are named.
    """
    if not isinstance(name, str):
        raise RouteError(f"a route name is a string such as 'anthropic/claude-opus-5'; got {name!r}")
    known = {**_built_in(), **_added}
    if name in known:
        return known[name]
    vendor = name.partition("/")[0]
    fits = [k for k in known if name.startswith(f"{k}-") and not _VERSION.match(name[len(k) :])]
    best = max(fits, key=len, default=f"{vendor}/*")
    if best not in known or "/" not in name:
        raise RouteError(_unknown(name, tuple(known)))
    return msgspec.structs.replace(known[best], name=name)


def _unknown(name: str, known: tuple[str, ...]) -> str:
    from difflib import get_close_matches  # only a mistake pays for loading it

    near = get_close_matches(name, known, n=3, cutoff=0.4)
    hint = f"did you mean {', '.join(near)}?" if near else "names look like 'vendor/model'."
    return f"unknown route {name!r}: {hint} For your own: td.Route(name=…, wire=…) or td.load_routes(file)"


def keeps_hint(route: Route, hint: RoleHint) -> bool:
    """Whether the route can keep the shape that `hint` asks for (HARN-RMD-003)."""
    blocks = route.wire == "anthropic"
    if hint == "user_block":
        return blocks
    return hint != "ephemeral_cache" or (blocks and route.prompt_caching)
