"""Progress: only while the request runs, always more than before, only for clients that asked."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.mcp.emit.raw import Frame, Raw, envelope
from tests.mcp.emit.test_listen import play
from tidings.errors import CallerError
from tidings.mcp import Reminders
from tidings.mcp.emit.progress import Progress, progress
from tidings.mcp.names import EXTENSION, PROGRESS


class Session:
    """What a handler has: notes what would be reported."""

    def __init__(self) -> None:
        self.session = self
        self.sent: list[tuple[float, float | None, str | None]] = []

    async def report_progress(self, progress: float, total: float | None, message: str | None) -> None:
        self.sent.append((progress, total, message))


@pytest.mark.parametrize("modern", [False, True])
def test_a_tool_reports_on_its_own_request_and_stops_when_it_is_done(modern: bool) -> None:
    async def script(client: Raw, reminders: Reminders) -> list[Frame]:
        token: Frame = {"progressToken": "t"}
        if modern:
            await client.listen("s", {EXTENSION: {}})
        else:
            await client.handshake()
        meta = {**envelope(), **token} if modern else token
        await client.ask(2, "tools/call", {"name": "count", "arguments": {}, "_meta": meta})
        return client.seen[1:]

    first, second, answer = play(script)
    assert first == {"method": PROGRESS, "params": {"progressToken": "t", "progress": 1, "total": 2}}
    assert second["params"] == {"progressToken": "t", "progress": 2, "total": 2, "message": "all"}
    assert answer["result"]["content"][0]["text"] == "False"


def test_a_client_that_gave_no_token_hears_nothing() -> None:
    async def script(client: Raw, reminders: Reminders) -> list[Frame]:
        await client.handshake()
        await client.tool(2, "count", modern=False)
        return [frame for frame in client.seen if frame.get("method") == PROGRESS]

    assert play(script) == []


@pytest.mark.parametrize("bad", [1, 0.5, 1.0])
def test_progress_that_does_not_grow_is_refused(bad: float) -> None:
    async def go(ctx: Any) -> None:
        async with progress(ctx) as report:
            await report(1)
            await report(bad)

    session = Session()
    with pytest.raises(CallerError, match="must grow"):
        asyncio.run(go(session))
    assert session.sent == [(1, None, None)]


@pytest.mark.parametrize("bad", [True, float("nan"), float("inf"), "1", None])
def test_progress_that_is_no_number_is_refused(bad: Any) -> None:
    session: Any = Session()
    with pytest.raises(CallerError, match="must be a finite number"):
        asyncio.run(Progress(session)(bad))
