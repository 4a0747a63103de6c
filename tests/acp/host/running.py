"""Plays a scene with the fake agent in a process of its own, and checks every line that the host sent.

A line whose method stands in the SDK's schema must be what its type reads, with nothing left over.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

from acp import schema

from tidings.acp import Client, Deadlines, Host, Session

AGENT = str(Path(__file__).with_name("fake_agent.py"))
DEADLINE = 60

METHODS = ["inject", "inject_reminder", "pending_injections", "revoke_reminder", "clear_reminders"]
RFC = {"loadSession": True, "reminders": {"inject": True, "emit": True}}
FULL_META = {
    "inject": True,
    "emit": True,
    "propagate": ["all", "session", "none"],
    "roleHints": ["system", "developer", "user_block", "ephemeral_cache"],
    "modes": ["interrupt_immediate", "finish_step", "audit_only"],
    "methods": [f"_session/{name}" for name in METHODS],
}
META: dict[str, object] = {"_meta": {"harn": {"reminders": FULL_META}}}
NONE: dict[str, object] = {}

MODELS: dict[str, Any] = {
    "initialize": schema.InitializeRequest,
    "authenticate": schema.AuthenticateRequest,
    "session/new": schema.NewSessionRequest,
    "session/load": schema.LoadSessionRequest,
    "session/prompt": schema.PromptRequest,
    "session/cancel": schema.CancelNotification,
}
T = TypeVar("T")


def play(
    folder: Path,
    scene: Callable[[Host], Awaitable[T]],
    capabilities: object = META,
    start: str = "",
    client: Client | None = None,
    deadlines: Deadlines | None = None,
) -> T:
    """What the scene gives; afterwards every line that was sent is checked."""
    command = [sys.executable, AGENT, json.dumps(capabilities), start]
    log = folder / "lines"

    async def whole() -> T:
        async with asyncio.timeout(DEADLINE):
            env = {"FAKE_LOG": str(log)}
            async with Host.start(command, env=env, client=client, deadlines=deadlines) as host:
                return await scene(host)

    try:
        return asyncio.run(whole())
    finally:
        for message in sent(folder):
            check(message)


def talk(folder: Path, scene: Callable[[Session], Awaitable[T]], *args: Any, **options: Any) -> T:
    """The same with a new session."""

    async def opened(host: Host) -> T:
        return await scene(await host.new_session(folder))

    return play(folder, opened, *args, **options)


def sent(folder: Path) -> list[dict[str, Any]]:
    """Every message that the agent received."""
    log = folder / "lines"
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def calls(folder: Path, *methods: str) -> list[dict[str, Any]]:
    """The parameters of the calls of these methods."""
    return [message["params"] for message in sent(folder) if message.get("method") in methods]


def check(message: dict[str, Any]) -> None:
    """The SDK's own type reads this line, and drops nothing of it."""
    assert message["jsonrpc"] == "2.0"
    model = MODELS.get(message.get("method", ""))
    if model is not None:
        read = model.model_validate(message["params"])
        assert read.model_dump(mode="json", by_alias=True, exclude_unset=True) == message["params"]
    if "outcome" in (message.get("result") or {}):
        schema.RequestPermissionResponse.model_validate(message["result"])
    if "error" in message:
        schema.Error.model_validate(message["error"])


def kinds(host: Host) -> list[str]:
    """What the host noticed, by kind."""
    return [note.kind for note in host.notes]
