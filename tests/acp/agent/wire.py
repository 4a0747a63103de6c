"""Every line of the ACP agent, held against the types of the SDK and, if at hand, the official schema."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
from acp import schema
from pydantic import BaseModel

import tidings as td
from tests.bridge.served import DEADLINE, Host, Message, folder, settings
from tidings.acp.agent.serve import serve
from tidings.bridge.methods import METHODS
from tidings.bridge.served.run import Settings
from tidings.bridge.updates import KINDS

OFFICIAL = Path(__file__).parents[3].parent / "shared" / "schemas" / "acp-v1.json"

RESULTS: dict[str, type[BaseModel]] = {
    "initialize": schema.InitializeResponse,
    "session/new": schema.NewSessionResponse,
    "session/load": schema.LoadSessionResponse,
    "session/resume": schema.ResumeSessionResponse,
    "session/list": schema.ListSessionsResponse,
    "session/close": schema.CloseSessionResponse,
    "session/set_mode": schema.SetSessionModeResponse,
    "session/prompt": schema.PromptResponse,
}
CALLS: dict[str, type[BaseModel]] = {
    "session/update": schema.SessionNotification,
    "session/request_permission": schema.RequestPermissionRequest,
}

TAKES_UPDATES = {"_meta": {"harn": {"reminders": {"emit": True}}}}


@cache
def official(name: str) -> jsonschema.Draft202012Validator | None:
    """The validator of a type of the official schema, if the schema is there."""
    if not OFFICIAL.exists():
        return None
    document = json.loads(OFFICIAL.read_text())
    return jsonschema.Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": document["$defs"]})


def check(lines: list[Message], methods: dict[Any, str], *, takes_updates: bool) -> None:
    """Hold `lines` against the types; `methods` says what each id asked for."""
    for line in lines:
        assert line["jsonrpc"] == "2.0"
        if "method" in line:
            _check_call(line, takes_updates)
        elif "error" in line:
            schema.Error.model_validate(line["error"])
            _strictly("Error", line["error"])
        elif methods.get(line["id"]) in RESULTS:
            _check(RESULTS[methods[line["id"]]], line["result"])
        else:
            assert methods.get(line["id"]) in METHODS, line


def _check_call(line: Message, takes_updates: bool) -> None:
    update = line["params"].get("update", {})
    if update.get("sessionUpdate") in KINDS:
        assert takes_updates, f"a client that knows nothing of reminders was sent {update}"
        return
    _check(CALLS[line["method"]], line["params"])


def _check(model: type[BaseModel], value: Any) -> None:
    model.model_validate(value)
    _strictly(model.__name__, value)


def _strictly(name: str, value: Any) -> None:
    validator = official(name)
    if validator is not None:
        validator.validate(value)


class Editor(Host):
    """An ACP client; when it leaves, every line it heard is checked."""

    def __init__(self, given: Settings, *, takes_updates: bool = False, rfc: bool = True) -> None:
        async def serving(read: Any, write: Any, settings: Settings) -> None:
            await serve(read, write, settings, rfc=rfc)

        super().__init__(serving, given)
        self.takes_updates = takes_updates
        self.session_id = ""

    async def close(self) -> None:
        await super().close()
        check(self.lines, self.methods, takes_updates=self.takes_updates)

    async def start(self, tmp_path: Path) -> str:
        """Say hello and open a session."""
        await self.hello()
        opened = await self.ask("session/new", cwd=folder(tmp_path), mcpServers=[])
        self.session_id = opened["sessionId"]
        return self.session_id

    async def hello(self) -> Message:
        capabilities = TAKES_UPDATES if self.takes_updates else {}
        info = {"name": "tester", "version": "1"}
        answer: Message = await self.ask(
            "initialize", protocolVersion=1, clientCapabilities=capabilities, clientInfo=info
        )
        return answer

    def prompting(self, text: str) -> int:
        """Begin a prompt; gives its id."""
        blocks = [{"type": "text", "text": text}]
        return self.begin("session/prompt", sessionId=self.session_id, prompt=blocks)

    async def prompt(self, text: str) -> Message:
        """Prompt, and wait for the end."""
        answer = await self.reply(self.prompting(text))
        assert "error" not in answer, answer
        result: Message = answer["result"]
        return result


def editor(*steps: Any, log: td.log.EventLog | None = None, **options: Any) -> Editor:
    """An editor with a scripted agent."""
    return Editor(settings(td.ScriptedModel(list(steps)), log), **options)


def play(scene: Callable[[], Awaitable[None]]) -> None:
    """Run an async scene within a deadline."""

    async def bounded() -> None:
        async with asyncio.timeout(DEADLINE * 2):
            await scene()

    asyncio.run(bounded())
