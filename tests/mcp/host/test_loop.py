"""End to end: a server says something, and the next request of a real loop carries it, quoted and named."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.mcp.host.running import ALLOW, Stage, fake, play
from tidings.agent.loop import agent_loop
from tidings.agent.models.scripted import ScriptedModel, call
from tidings.core.reminder import Payload

BOTH = pytest.mark.parametrize("era", ["legacy", "modern"])
BUILT = {"body": "cargo check passed after your last edit.", "dedupeKey": "cargo-check", "ttlTurns": 1}


def said(body: Payload) -> str:
    return json.dumps(body, ensure_ascii=False)


@BOTH
@pytest.mark.parametrize("route", ["anthropic/claude-opus-5", "openai/gpt-5", "openai-compatible/scripted"])
def test_what_a_server_pushes_during_a_tool_call_is_in_the_next_request_and_only_there(
    era: str, route: str
) -> None:
    push = call("fake__push", reminders=[BUILT])
    model = ScriptedModel([push, call("fake__echo", text="x"), "Done."], route=route)

    async def scene(stage: Stage) -> str:
        tools = await stage.servers.tools()
        result = await agent_loop(
            "Go.", model=model, tools=tools, session=stage.session, approval=ALLOW, reminders=False
        )
        return result.status

    assert play(scene, fake({"era": era})) == "done"
    quoted = [line for body in model.requests for line in quotes(body)]
    assert quoted == ["> cargo check passed after your last edit."]
    assert any("fake" in line for line in said(model.requests[1]).split("\\n") if "reminder" in line)


def quotes(body: Payload) -> list[str]:
    """The quoted lines of external text in a request."""
    return [line for text in texts(body) for line in text.splitlines() if line.startswith("> ")]


def texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for item in value.values() for text in texts(item)]
    return [text for item in value for text in texts(item)] if isinstance(value, (list, tuple)) else []


def test_a_reminder_that_comes_while_the_model_thinks_is_not_waited_for_and_not_lost() -> None:
    arrived = asyncio.Event()
    model = ScriptedModel([call("fake__echo", text="x"), "Done."])

    async def scene(stage: Stage) -> list[int]:
        tools = await stage.servers.tools()
        push = next(tool for tool in tools if tool.name == "fake__push")
        answer = model.answer

        async def slow(*given: object, **options: object) -> object:
            if not arrived.is_set():
                await stage.call(push.name, reminders=[BUILT])
                arrived.set()
            return await answer(*given, **options)  # type: ignore[arg-type]

        model.answer = slow  # type: ignore[assignment, method-assign]
        await agent_loop("Go.", model=model, tools=tools, session=stage.session, approval=ALLOW)
        return [len(quotes(body)) for body in model.requests]

    assert play(scene, fake()) == [0, 1]
