"""What runs beside a host: the process that wakes it, and the MCP server whose tool its hooks may call."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.hosts.desks import news
from tests.hosts.events import payload
from tests.hosts.test_command import WHOLE, hub_in, remind, run_hook, surroundings
from tests.hub.desks import DEADLINE
from tidings.cli.hook.mcp import SCHEMA, answered, event_of
from tidings.cli.hook.wake import PROCESS, SESSION
from tidings.core.reminder import Payload
from tidings.hub.place import place_of


def test_the_waiting_process_wakes_with_the_news_on_stderr(tmp_path: Path) -> None:
    environ = surroundings(tmp_path)

    async def script() -> None:
        async with hub_in(environ) as client:
            given = json.dumps(payload("claude-code", "Stop")).encode()
            await client.ask("POST", "/v1/hosts/claude-code/hook", payload("claude-code", "Stop"))
            waiting = asyncio.create_task(
                asyncio.to_thread(run_hook, WHOLE, environ, given, "claude-code", "--wake")
            )
            await remind(client, "Production is down.", mode="interrupt_immediate")
            code, out, err = await waiting
            assert (code, out) == (2, b"")
            assert err.decode().endswith("Production is down.")

    asyncio.run(script())


def test_the_waiting_process_leaves_when_the_session_goes_on(tmp_path: Path) -> None:
    environ = surroundings(tmp_path)

    async def script() -> None:
        async with hub_in(environ) as client:
            stop, prompt = payload("claude-code", "Stop"), payload("claude-code", "UserPromptSubmit")
            process = await asyncio.create_subprocess_exec(
                *WHOLE,
                "claude-code",
                "--wake",
                env=environ,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
            assert process.stdin is not None
            process.stdin.write(json.dumps(stop).encode())
            process.stdin.close()
            while process.returncode is None:
                await client.ask("POST", "/v1/hosts/claude-code/hook", prompt)
                try:
                    async with asyncio.timeout(0.2):
                        await process.wait()
                except TimeoutError:
                    continue
            told = await process.communicate()
            assert (process.returncode, *told) == (0, b"", b"")

    asyncio.run(script())


@asynccontextmanager
async def monitor(environ: dict[str, str], folder: Path) -> AsyncIterator[asyncio.StreamReader]:
    """What the command that Claude Code keeps beside a session prints."""
    process = await asyncio.create_subprocess_exec(
        *WHOLE,
        "claude-code",
        "--monitor",
        env={**environ, SESSION: "s1"},
        cwd=folder,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        yield process.stdout
    finally:
        process.kill()
        await process.wait()


async def lines_to(words: str, printed: asyncio.StreamReader) -> list[str]:
    lines: list[str] = []
    while not lines or words not in lines[-1]:
        lines.append((await printed.readline()).decode())
    return lines


def test_the_monitor_prints_what_wakes_each_time_and_registers_its_session(tmp_path: Path) -> None:
    environ = surroundings(tmp_path)
    to: Payload = {"to": {"session": "claude-code:s1"}, "mode": "interrupt_immediate"}

    async def script() -> None:
        async with hub_in(environ) as client, monitor(environ, tmp_path) as printed:
            rows: list[Payload] = []
            while not rows:
                listed = await client.ask("GET", "/v1/sessions")
                assert isinstance(listed.body, dict)
                rows = listed.body["sessions"]
            assert [(row["sessionId"], row["workspace"]) for row in rows] == [
                ("claude-code:s1", str(tmp_path))
            ]
            await remind(client, "Production is down.", **to)
            first = await lines_to("Production is down.", printed)
            assert first[0] == "Added by tidings, not written by the user. News for this session:\n"
            await client.ask("POST", "/v1/hosts/claude-code/hook", payload("claude-code", "Stop"))
            await remind(client, "It is up again.", **to)
            assert "Production is down.\n" not in await lines_to("It is up again.", printed)

    asyncio.run(script())


def test_a_monitor_and_a_waiting_process_end_with_their_host(tmp_path: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait(DEADLINE)
    environ = {**surroundings(tmp_path), SESSION: "s1", PROCESS: str(gone.pid)}
    assert run_hook(WHOLE, environ, b"", "claude-code", "--monitor") == (0, b"", b"")
    given = json.dumps(payload("claude-code", "Stop")).encode()
    assert run_hook(WHOLE, environ, given, "claude-code", "--wake") == (0, b"", b"")


def test_a_monitor_that_nobody_gave_a_session_says_so(tmp_path: Path) -> None:
    code, out, err = run_hook(WHOLE, surroundings(tmp_path), b"", "claude-code", "--monitor")
    assert (code, out) == (1, b"")
    assert err == (
        b"tidings hook: CLAUDE_CODE_SESSION_ID is not set; claude-code starts its monitors with it\n"
    )


async def talk(environ: dict[str, str], calls: list[Payload]) -> list[Payload]:
    """The results of the MCP server's answers to an initialisation and to calls of its tool."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        "from tidings.cli.start import run; run()",
        "hook",
        "mcp",
        env=environ,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    hello = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    lines: list[Payload] = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"},
    ]
    lines += [
        {"id": 3 + number, "method": "tools/call", "params": {"name": "drain", "arguments": call}}
        for number, call in enumerate(calls)
    ]
    assert process.stdin is not None
    assert process.stdout is not None
    results = []
    for line in lines:
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **line}).encode() + b"\n")
        if "id" in line:
            results.append(json.loads(await process.stdout.readline())["result"])
    process.stdin.close()
    await process.wait()
    return results[1:]


def test_a_tool_of_an_mcp_server_gives_the_same_answer(tmp_path: Path) -> None:
    environ = surroundings(tmp_path)

    async def script() -> None:
        async with hub_in(environ) as client:
            await remind(client, "The build is red.")
            event = payload("claude-code", "UserPromptSubmit")
            flat: Payload = {"host": "claude-code", **event}
            listed, told, again = await talk(environ, [flat, {**flat, "agent_id": "${agent_id}"}])
            tools = listed["tools"]
            assert isinstance(tools, list)
            assert [(tool["name"], tool["inputSchema"]) for tool in tools] == [("drain", SCHEMA)]
            assert "The build is red." in news(json.loads(text_of(told)))
            assert json.loads(text_of(again)) == {}

    asyncio.run(script())


def text_of(result: Payload) -> str:
    content = result["content"]
    assert isinstance(content, list)
    return str(content[0]["text"])


def test_without_a_hub_the_tool_gives_the_neutral_answer(tmp_path: Path) -> None:
    socket = place_of(surroundings(tmp_path)).socket

    async def script() -> None:
        async with asyncio.timeout(DEADLINE):
            event = payload("codex", "Stop")
            assert await answered(socket, {"host": "codex", **event}) == {}
            assert await answered(socket, {"host": "emacs", **event}) == {}

    asyncio.run(script())


def test_what_a_template_left_empty_is_absent() -> None:
    given: Payload = {
        "host": "codex",
        "hook_event_name": "Stop",
        "session_id": "s1",
        "agent_id": "${agent_id}",
        "source": "",
        "stop_hook_active": "true",
        "cwd": None,
    }
    assert event_of(given) == {"hook_event_name": "Stop", "session_id": "s1", "stop_hook_active": True}
