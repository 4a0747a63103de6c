"""What the SDK calls: the methods of an ACP agent, on the sessions that the bridge serves.

The SDK has checked the parameters; what we refuse becomes its `RequestError`. Reminders do not come this
way: the transport answers them. Nothing here is a subclass of the SDK's `Agent`: its methods answer null
to everything that is not overridden.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from acp import PROTOCOL_VERSION, RequestError
from acp.schema import (
    AgentCapabilities,
    CloseSessionResponse,
    Implementation,
    InitializeResponse,
    ListSessionsResponse,
    LoadSessionResponse,
    McpCapabilities,
    NewSessionResponse,
    PromptCapabilities,
    PromptResponse,
    ResumeSessionResponse,
    SessionCapabilities,
    SessionCloseCapabilities,
    SessionInfo,
    SessionListCapabilities,
    SessionMode,
    SessionModeState,
    SessionResumeCapabilities,
    SetSessionModeResponse,
    Usage,
)
from pydantic import BaseModel

from tidings.acp.agent.outlet import AcpOutlet
from tidings.agent import port
from tidings.bridge.handle import refusal
from tidings.bridge.rpc import INTERNAL_ERROR
from tidings.bridge.served.gate import MODES
from tidings.bridge.served.session import ServedSession
from tidings.bridge.served.sessions import Served
from tidings.core.producers import shown
from tidings.errors import TidingsError
from tidings.version import __version__

P = ParamSpec("P")
T = TypeVar("T")

_logger = logging.getLogger(__name__)


def _told(method: Callable[P, Awaitable[T]]) -> Callable[P, Coroutine[Any, Any, T]]:
    """`method`, with our errors in the SDK's form; of a mistake of ours the client learns only the kind."""

    @wraps(method)
    async def told(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await method(*args, **kwargs)
        except TidingsError as error:
            refused = refusal(error)
            raise RequestError(refused.code, refused.message, refused.data) from error
        except Exception as error:
            _logger.exception("%s failed", method.__name__)
            text = f"{method.__name__} failed: {type(error).__name__}"
            raise RequestError(INTERNAL_ERROR, text) from error

    return told


class AgentMethods:
    """The agent of one connection."""

    def __init__(self, served: Served, outlet: AcpOutlet) -> None:
        self._served = served
        self._outlet = outlet

    async def initialize(self, protocol_version: int, **_: Any) -> InitializeResponse:  # noqa: ARG002
        """Say who we are; we speak version 1, whatever was asked for."""
        return InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_info=Implementation(name="tidings", title="Tidings", version=__version__),
            agent_capabilities=AgentCapabilities(
                load_session=True,
                mcp_capabilities=McpCapabilities(http=self._served.connects, sse=False),
                prompt_capabilities=PromptCapabilities(image=True, audio=False, embedded_context=True),
                session_capabilities=SessionCapabilities(
                    list=SessionListCapabilities(),
                    close=SessionCloseCapabilities(),
                    resume=SessionResumeCapabilities(),
                ),
            ),
            auth_methods=[],
        )

    @_told
    async def new_session(
        self, cwd: str, mcp_servers: Sequence[BaseModel] | None = None, **_: Any
    ) -> NewSessionResponse:
        """Make a session that works in `cwd`."""
        served = self._served.new(cwd)
        try:
            await self._invite(served, mcp_servers)
        except TidingsError:
            await self._served.close(served.id)
            raise
        return NewSessionResponse(session_id=served.id, modes=_modes(served))

    @_told
    async def load_session(
        self, cwd: str, session_id: str, mcp_servers: Sequence[BaseModel] | None = None, **_: Any
    ) -> LoadSessionResponse:
        """Open a session of the log and tell its history."""
        served = self._served.load(session_id, cwd)
        await self._invite(served, mcp_servers)
        for update in served.history():
            self._outlet.replay(session_id, update)
        return LoadSessionResponse(modes=_modes(served))

    @_told
    async def resume_session(
        self, session_id: str, cwd: str, mcp_servers: Sequence[BaseModel] | None = None, **_: Any
    ) -> ResumeSessionResponse:
        """Open a session of the log without telling its history."""
        served = self._served.load(session_id, cwd)
        await self._invite(served, mcp_servers)
        return ResumeSessionResponse(modes=_modes(served))

    async def _invite(self, served: ServedSession, servers: Sequence[BaseModel] | None) -> None:
        entries = [each.model_dump(mode="json", by_alias=True, exclude_none=True) for each in servers or ()]
        await served.neighbours.invite(entries)

    @_told
    async def list_sessions(
        self, cwd: str | None = None, cursor: str | None = None, **_: Any
    ) -> ListSessionsResponse:
        """The sessions that the log knows, newest first."""
        listed, following = self._served.page(cwd, cursor)
        found = [SessionInfo.model_validate(each.to_wire()) for each in listed]
        return ListSessionsResponse(sessions=found, next_cursor=following)

    @_told
    async def close_session(self, session_id: str, **_: Any) -> CloseSessionResponse:
        """End a session's work; the log keeps it."""
        await self._served.close(session_id)
        return CloseSessionResponse()

    @_told
    async def set_session_mode(self, session_id: str, mode_id: str, **_: Any) -> SetSessionModeResponse:
        """Choose how tools are approved, also while a prompt runs."""
        self._served.get(session_id).set_mode(mode_id)
        return SetSessionModeResponse()

    @_told
    async def prompt(
        self, session_id: str, prompt: Sequence[BaseModel], request_id: object = None, **_: Any
    ) -> PromptResponse:
        """Work on what the user said; the transport tells which request it came with."""
        blocks = [block.model_dump(mode="json", by_alias=True, exclude_none=True) for block in prompt]
        ended = await self._served.prompt(session_id, blocks, request_id)
        reason = PromptResponse.model_validate({"stopReason": ended.stop_reason}).stop_reason
        return PromptResponse(stop_reason=reason, usage=_usage(ended.usage))

    async def cancel(self, session_id: str, **_: Any) -> None:
        """End what runs and what waits in a session."""
        served = self._served.find(session_id)
        if served is None:
            _logger.info("session/cancel for a session that is not open: %s", shown(session_id))
        else:
            served.cancel()

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """Refuse every extension that the transport did not answer.

        Raises:
            RequestError: always.
        """
        raise RequestError.method_not_found(f"_{method}")


def _modes(served: ServedSession) -> SessionModeState:
    modes = [SessionMode(id=mode.id, name=mode.name, description=mode.description) for mode in MODES]
    return SessionModeState(current_mode_id=served.gate.mode.id, available_modes=modes)


def _usage(usage: port.Usage) -> Usage | None:
    if not usage.input_tokens and not usage.output_tokens:
        return None
    return Usage(
        total_tokens=usage.input_tokens + usage.output_tokens,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cached_read_tokens=usage.cached_tokens,
    )
