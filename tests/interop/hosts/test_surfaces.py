"""The other ways in, as the reference shows them: hooks that are HTTP requests or call an MCP tool."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.interop.agents import tidings
from tests.interop.hosts.stage import Stage, gate
from tests.interop.hosts.test_delivery import NEWS, mentions
from tidings.testing.fake_provider import Say

COMMON = {"session_id": "${session_id}", "cwd": "${cwd}"}
FIELDS: dict[str, Mapping[str, str]] = {
    "UserPromptSubmit": {},
    "PreToolUse": {"tool_use_id": "${tool_use_id}"},
    "PostToolBatch": {},
    "PostToolUse": {"tool_use_id": "${tool_use_id}"},
    "Stop": {"stop_hook_active": "${stop_hook_active}"},
}
"""The fields that the tool is given, beside the common ones."""
AFTER_TOOLS = {"claude-code": "PostToolBatch", "codex": "PostToolUse"}


def write(stage: Stage, handler: Callable[[str], dict[str, Any]]) -> None:
    """Put hooks into the project by hand: one for each event."""
    events = ["UserPromptSubmit", "PreToolUse", AFTER_TOOLS[stage.cli.host], "Stop"]
    hooks = {event: [{"hooks": [{**handler(event), "timeout": 5}]}] for event in events}
    place = {"claude-code": ".claude/settings.local.json", "codex": ".codex/hooks.json"}[stage.cli.host]
    path = stage.room.work / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.encode({"hooks": hooks}))


def by_tool(stage: Stage) -> Callable[[str], dict[str, Any]]:
    """The handler that calls our tool."""

    def handler(event: str) -> dict[str, Any]:
        given = {"host": stage.cli.host, "hook_event_name": event, **COMMON, **FIELDS[event]}
        return {"type": "mcp_tool", "server": "tidings", "tool": "drain", "input": given}

    return handler


def serve_tool(stage: Stage) -> list[str]:
    """Give the agent our MCP server; gives the arguments that it needs for that."""
    command, *arguments = tidings("hook", "mcp")
    if stage.cli.host == "codex":
        config = Path(stage.more["CODEX_HOME"], "config.toml")
        told = f"\n[mcp_servers.tidings]\ncommand = {command!r}\nargs = {arguments!r}\n"
        config.write_text(config.read_text() + told)
        return []
    path = stage.room.home / "mcp.json"
    path.write_bytes(
        msgspec.json.encode({"mcpServers": {"tidings": {"command": command, "args": arguments}}})
    )
    return ["--mcp-config", str(path), "--strict-mcp-config"]


def token_of(stage: Stage) -> str:
    """The hub's token, as a person would put it into the environment."""
    return (stage.room.home / ".local" / "share" / "tidings" / "hub.token").read_text().strip()


def tell(stage: Stage, prepare: Callable[[], Any], *more: str) -> None:
    """Tell news while the model answers, to an agent whose hooks `prepare` writes once the hub runs."""
    held = gate()
    stage.provider.add(stage.step("echo one", "echo two", before=held), Say(text="Done."))

    async def work() -> None:
        await stage.tidings("up", "--detach", "--port", "0")
        try:
            await prepare()
            async with stage.run(*stage.cli.command("Do your part."), *more) as agent:
                await agent.reached(held)
                await stage.remind(NEWS)
                held.open()
                await agent.end()
        finally:
            await stage.tidings("down")

    asyncio.run(work())


@pytest.mark.parametrize("stage", ["claude-code"], indirect=True)
def test_hooks_that_are_http_requests_bring_the_news(stage: Stage) -> None:
    async def prepare() -> None:
        status = await stage.ask("status")
        stage.more["TIDINGS_TOKEN"] = token_of(stage)
        token = {"Authorization": "Bearer ${TIDINGS_TOKEN}"}
        about = {"type": "http", "headers": token, "allowedEnvVars": ["TIDINGS_TOKEN"]}
        write(stage, lambda _: {**about, "url": f"{status['url']}/v1/hosts/claude-code/hook"})

    tell(stage, prepare)
    assert mentions(stage) == [0, 1]


@pytest.mark.parametrize("stage", ["claude-code"], indirect=True)
def test_an_http_hook_whose_token_has_changed_leaves_the_run_unharmed(stage: Stage) -> None:
    async def prepare() -> None:
        status = await stage.ask("status")
        about = {"type": "http", "headers": {"Authorization": "Bearer of-yesterday"}}
        write(stage, lambda _: {**about, "url": f"{status['url']}/v1/hosts/claude-code/hook"})

    tell(stage, prepare)
    assert mentions(stage) == [0, 0]


@pytest.mark.parametrize("stage", ["claude-code", "codex"], indirect=True)
def test_hooks_that_call_an_mcp_tool_bring_the_news(stage: Stage) -> None:
    more = serve_tool(stage)

    async def prepare() -> None:
        write(stage, by_tool(stage))

    tell(stage, prepare, *more)
    assert mentions(stage) == [0, 1]
