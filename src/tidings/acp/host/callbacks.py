"""What the agent asks of us, answered in the SDK's words: permissions and files.

The SDK calls these with its own types; the caller's functions get ours. Nothing that a caller's function
raises reaches the agent in full, or the SDK at all. While a session is cancelled its open permission
requests are answered `cancelled`, as the protocol asks.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import acp
from acp.schema import (
    AllowedOutcome,
    DeniedOutcome,
    PermissionOption,
    ReadTextFileResponse,
    RequestPermissionResponse,
    ToolCallUpdate,
    WriteTextFileResponse,
)

from tidings.acp.host import client as ours
from tidings.acp.host.client import Client, PermissionRequest, ReadFile, WriteFile
from tidings.acp.host.notes import Notes
from tidings.core.producers import shown

In = TypeVar("In")
Out = TypeVar("Out")


class Callbacks:
    """The client side of the protocol, for the SDK. Only methods that `Link` lets through are called."""

    def __init__(self, client: Client, notes: Notes) -> None:
        self._client = client
        self._notes = notes
        self._asked: dict[str, set[asyncio.Task[str | None]]] = {}

    async def request_permission(
        self, session_id: str, tool_call: ToolCallUpdate, options: list[PermissionOption], **_: Any
    ) -> RequestPermissionResponse:
        """Ask the caller; refuse when there is nobody to ask."""
        offered = tuple(ours.PermissionOption(o.option_id, o.name, o.kind) for o in options)
        call = tool_call.model_dump(mode="json", by_alias=True, exclude_none=True)
        request = PermissionRequest(session_id, call, offered)
        asking = asyncio.create_task(self._chosen(request), name="tidings.acp.permission")
        self._asked.setdefault(session_id, set()).add(asking)
        await asyncio.wait({asking})
        self._asked[session_id].discard(asking)
        return outcome(None if asking.cancelled() else asking.result())

    async def _chosen(self, request: PermissionRequest) -> str | None:
        """The id of an option; None when none fits."""
        refusal = request.first("reject_once") or request.first("reject_always")
        if self._client.permission is None:
            self._notes.add("permission_refused", f"nobody to ask about {shown(request.tool_call)}")
            return refusal
        try:
            chosen = await _called(self._client.permission, request)
        except Exception as error:  # noqa: BLE001 a failing function of the caller refuses
            self._notes.add("permission_failed", f"the permission function failed: {shown(error)}; refused")
            return refusal
        if chosen is None:
            return refusal
        if chosen in {option.id for option in request.options}:
            return chosen
        self._notes.add("permission_failed", f"{shown(chosen)} is none of the options; refused")
        return refusal

    def cancel(self, session_id: str) -> None:
        """Answer the open permission requests of a session: cancelled."""
        for asking in self._asked.get(session_id, ()):
            asking.cancel()

    async def read_text_file(
        self, session_id: str, path: str, line: int | None = None, limit: int | None = None, **_: Any
    ) -> ReadTextFileResponse:
        """The text of a file."""
        text: object = await self._file(
            self._client.read_file, ReadFile(session_id, path, line, limit), path
        )
        if not isinstance(text, str):
            self._notes.add("file_failed", f"reading {shown(path)} gave no text but {shown(text)}")
            raise acp.RequestError.internal_error({"details": "the file has no text"})
        return ReadTextFileResponse(content=text)

    async def write_text_file(
        self, session_id: str, path: str, content: str, **_: Any
    ) -> WriteTextFileResponse:
        """Write a file."""
        await self._file(self._client.write_file, WriteFile(session_id, path, content), path)
        return WriteTextFileResponse()

    async def _file(
        self, function: Callable[[In], Out | Awaitable[Out]] | None, request: In, path: str
    ) -> Out:
        if function is None:
            raise acp.RequestError.method_not_found("fs")
        try:
            return await _called(function, request)
        except FileNotFoundError:
            raise acp.RequestError.resource_not_found(path) from None
        except Exception as error:  # noqa: BLE001 the agent learns the kind of failure, the notes the rest
            self._notes.add("file_failed", f"{shown(path)}: {shown(error)}")
            raise acp.RequestError.internal_error({"details": type(error).__name__}) from None


def outcome(option_id: str | None) -> RequestPermissionResponse:
    """The protocol's answer to a permission request; None: it was cancelled."""
    if option_id is None:
        return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
    return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=option_id))


async def _called(function: Callable[[In], Out | Awaitable[Out]], given: In) -> Out:
    result = function(given)
    return await result if inspect.isawaitable(result) else result
