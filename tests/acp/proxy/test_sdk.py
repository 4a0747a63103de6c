"""The official SDK on both sides: its own types read every line that we add or change."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import acp
from acp.schema import InitializeRequest, InitializeResponse, PromptResponse

from tests.acp.proxy.processes import SCRIPT, Editor, fake, play, proxy
from tests.acp.proxy.script import TAKES, wrapped
from tidings.bridge.door.call import call

AGENT = [sys.executable, str(Path(__file__).with_name("sdk_agent.py"))]


class Listener(acp.Client):
    """A client that keeps the texts it is shown and the events it is told."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.events: list[dict[str, Any]] = []

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        self.texts.append(update.content.text)
        self.events += ((update.field_meta or {}).get("harn") or {}).get("reminders", [])


def test_an_sdk_client_and_an_sdk_agent_talk_through_the_interposer(tmp_path: Path) -> None:
    listener = Listener()
    path = str(tmp_path / "door.sock")

    async def scene() -> None:
        arguments = ["acp-proxy", "--quiet", "--socket", path, "--", *AGENT]
        async with acp.spawn_agent_process(
            listener, str(SCRIPT), *arguments, env={**os.environ, "PYTHONPATH": os.getcwd()}
        ) as (connection, _):
            hello = await connection.initialize(protocol_version=1)
            assert hello.agent_capabilities.field_meta["harn"]["reminders"]["inject"] is True
            session = await connection.new_session(cwd="/", mcp_servers=[])
            for body in ("old", "red"):
                params = {"sessionId": session.session_id, "body": body, "dedupeKey": "k"}
                call(path, "session/inject_reminder", params)
            answer = await connection.prompt(session_id=session.session_id, prompt=[acp.text_block("hi")])
            listener.events += answer.field_meta["harn"]["reminders"]

    play(scene)
    assert listener.texts == ["hi", wrapped("From a program on this computer:\nred")]
    assert [event["sessionUpdate"] for event in listener.events] == ["reminder_deduped", "reminder_emitted"]


def test_what_we_change_is_still_valid_for_the_sdk(tmp_path: Path) -> None:
    async def scene() -> None:
        async with proxy(fake(), "--no-socket", runtime=tmp_path) as editor:
            session = await editor.open()
            await editor.ask("session/remind", {"body": "x", "ttlTurns": 1})
            await editor.prompt(session)
            check(editor)

    def check(editor: Editor) -> None:
        hello, *_, last = [message for message in editor.seen if "result" in message]
        InitializeResponse.model_validate(hello["result"])
        InitializeRequest.model_validate(hello["result"]["_meta"]["seen"])
        PromptResponse.model_validate(last["result"])
        acp.schema.PromptRequest.model_validate(
            {"sessionId": "s", "prompt": last["result"]["_meta"]["seen"]}
        )

    play(scene)


async def kinds_for(client: dict[str, Any], runtime: Path) -> list[str]:
    """The updates that an editor with these capabilities gets; the SDK reads those it should know."""
    async with proxy(fake(), "--no-socket", runtime=runtime) as editor:
        session = await editor.open(client)
        await editor.ask("session/remind", {"body": "x", "ttlTurns": 1, "dedupeKey": "k"})
        await editor.ask("session/remind", {"body": "y", "ttlTurns": 1, "dedupeKey": "k"})
        await editor.prompt(session)
        await editor.prompt(session, "compact")
        updates = [message["params"] for message in editor.seen if "method" in message]
    for update in updates:
        if not update["update"]["sessionUpdate"].startswith("reminder_"):
            acp.schema.SessionNotification.model_validate(update)
    return [update["update"]["sessionUpdate"] for update in updates]


def test_only_an_editor_that_asked_gets_updates_that_the_sdk_does_not_know(tmp_path: Path) -> None:
    found: list[list[str]] = []

    async def scene() -> None:
        found.append(await kinds_for({}, tmp_path))
        found.append(await kinds_for(TAKES, tmp_path))

    play(scene)
    told = ["reminder_deduped", "agent_message_chunk", "reminder_emitted", "reminder_expired"]
    assert found == [["agent_message_chunk"] * 2, [*told, "agent_message_chunk"]]
