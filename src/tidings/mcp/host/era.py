"""Which era a server speaks, and what it says of itself, read raw: the SDK drops unknown capabilities.

The modern question first; anything but a modern answer, also none in time, means the legacy handshake
(decision 24). A config may pin the era. Called by `connection.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import mcp_types as types
import msgspec
from mcp import MCPError
from mcp.client import ClientSession
from mcp_types import CONNECTION_CLOSED, UNSUPPORTED_PROTOCOL_VERSION
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import ConfigDict, ValidationError

from tidings.core.producers import shown
from tidings.core.reminder import Payload
from tidings.errors import TidingsError
from tidings.mcp.config import Era
from tidings.mcp.conversation import names as conversation
from tidings.mcp.names import EXTENSION, LEGACY, MODERN
from tidings.version import __version__

CLIENT = types.Implementation(name="tidings", version=__version__)
OURS: dict[str, dict[str, object]] = {EXTENSION: {}, conversation.EXTENSION: {}}
"""The extensions that a host of ours declares."""


class EraError(TidingsError):
    """A server answered, but not in an era that it and we speak."""


class ProbeEndedError(TidingsError):
    """A server went away at the modern question: some old ones do; ask it the old way next time."""


class Spoken(msgspec.Struct, frozen=True, kw_only=True):
    """How a server is spoken to, and what it says of itself."""

    era: str
    version: str
    capabilities: Mapping[str, object]
    name: str = ""
    instructions: str = ""

    @property
    def is_modern(self) -> bool:
        """Whether it speaks 2026-07-28 or later."""
        return self.era == "modern"


class Raw(types.Result):
    """A result with everything that the server put in it."""

    model_config = ConfigDict(extra="allow")


async def settle(session: ClientSession, era: Era, probe: float | None) -> Spoken:
    """Ask the server, and make the session speak its era.

    Raises:
        EraError: no era fits.
        ProbeEndedError: it went away at the first question.
        MCPError: it refused the handshake.
    """
    if era == "legacy":
        return await _legacy(session)
    spoken = await _modern(session, probe if era == "auto" else None)
    if spoken is not None:
        return spoken
    if era == "modern":
        raise EraError(f"the server does not speak {MODERN}; set era to auto or legacy")
    try:
        return await _legacy(session)
    except MCPError as error:
        if error.code == CONNECTION_CLOSED:
            raise ProbeEndedError("it went away when it was asked for server/discover") from error
        if error.code != UNSUPPORTED_PROTOCOL_VERSION:
            raise
    late = await _modern(session, None)
    if late is None:
        raise EraError(f"the server speaks neither {MODERN} nor {LEGACY} or older")
    return late


async def _modern(session: ClientSession, probe: float | None) -> Spoken | None:
    """What the server says in the modern way; None if it does not."""
    try:
        async with asyncio.timeout(probe):
            raw = await _discovered(session)
        result = types.DiscoverResult.model_validate(raw)
    except (MCPError, TimeoutError, ValidationError):
        return None
    if MODERN not in result.supported_versions:
        return None
    session.adopt(result)
    return Spoken(
        era="modern",
        version=MODERN,
        capabilities=_object(raw.get("capabilities")),
        name=_name(session),
        instructions=result.instructions or "",
    )


async def _discovered(session: ClientSession) -> Payload:
    """The answer to the modern question; asked once more if the server refuses and names our version."""
    try:
        return await session.send_discover(MODERN)
    except MCPError as error:
        if error.code != UNSUPPORTED_PROTOCOL_VERSION or MODERN not in _supported(error):
            raise
    return await session.send_discover(MODERN)


def _supported(error: MCPError) -> list[object]:
    found = _object(error.data).get("supported")
    return found if isinstance(found, list) else []


async def _legacy(session: ClientSession) -> Spoken:
    request = types.InitializeRequest(
        params=types.InitializeRequestParams(
            protocol_version=LEGACY,
            capabilities=types.ClientCapabilities(extensions=OURS),
            client_info=CLIENT,
        )
    )
    raw = (await session.send_request(request, Raw)).model_dump(by_alias=True, exclude_none=True)
    result = types.InitializeResult.model_validate(raw)
    if result.protocol_version not in HANDSHAKE_PROTOCOL_VERSIONS:
        raise EraError(
            f"the server answered with version {shown(result.protocol_version)}, which we do not speak"
        )
    session.adopt(result)
    await session.send_notification(types.InitializedNotification())
    return Spoken(
        era="legacy",
        version=result.protocol_version,
        capabilities=_object(raw.get("capabilities")),
        name=_name(session),
        instructions=result.instructions or "",
    )


def _name(session: ClientSession) -> str:
    info = session.server_info
    return "" if info is None else f"{info.name} {info.version}".strip()


def _object(value: object) -> Payload:
    return dict(value) if isinstance(value, Mapping) else {}
