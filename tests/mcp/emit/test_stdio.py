"""Our stdio streams: lines that are no message or too long, prints, files, a client that is gone."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.mcp.emit.fixture import high
from tests.mcp.emit.raw import DEADLINE, ROOT, Frame, Raw, piped
from tests.mcp.emit.test_listen import play
from tidings.bridge.rpc import LONGEST_LINE
from tidings.mcp import Reminders
from tidings.mcp.names import EXTENSION, LEGACY
from tidings.mcp.stdio import open_pipe

HELLO: list[Frame] = [
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": LEGACY,
            "capabilities": {},
            "clientInfo": {"name": "raw", "version": "1"},
        },
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b'{"id": 7, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": 7, "method": 9}', -32600),
        (b'{"jsonrpc": "2.0", "id": 7, "method": "ping", "params": []}', -32602),
    ],
)
def test_a_request_that_is_malformed_is_refused_by_its_id(line: bytes, code: int) -> None:
    async def script(client: Raw, reminders: Reminders) -> Any:
        await client.handshake()
        await client.send(line)
        await client.ask(8, "ping")
        return [frame["error"]["code"] for frame in client.seen if frame.get("id") == 7]

    assert play(script) == [code]


@pytest.mark.parametrize(
    "line",
    [
        b"not json",
        b"",
        b"   ",
        b"\xff\xfe",
        b"[]",
        b'{"jsonrpc": "2.0", "method": 9}',
        b'{"jsonrpc": "2.0", "id": 7}',
        b"[" * 100_000,
        b'"' + b"x" * (LONGEST_LINE + 10) + b'"',
        b'"' + b"x" * (3 * LONGEST_LINE) + b'"',
    ],
    ids=[
        "words",
        "empty",
        "blank",
        "no utf-8",
        "batch",
        "no method",
        "nothing asked",
        "deep",
        "too long",
        "far too long",
    ],
)
def test_a_line_that_is_no_message_is_skipped_and_the_connection_goes_on(line: bytes) -> None:
    async def script(client: Raw, reminders: Reminders) -> list[object]:
        await client.handshake()
        await client.send(line)
        await client.ask(8, "ping")
        return [frame["id"] for frame in client.seen]

    assert play(script) == ["init", 8]


def test_emitting_to_a_client_that_is_gone_raises_nothing() -> None:
    async def go() -> tuple[int, int]:
        reminders = high()
        async with asyncio.timeout(DEADLINE):
            async with piped(reminders) as client:
                await client.handshake()
                await client.ask(2, "ping")
            await reminders.emit("to nobody")
        return reminders.stats.connections, reminders.stats.waiting

    assert asyncio.run(go()) == (0, 1)


def test_a_listener_that_is_gone_ends_its_stream_quietly(caplog: pytest.LogCaptureFixture) -> None:
    async def go() -> int:
        reminders = high()
        async with asyncio.timeout(DEADLINE):
            async with piped(reminders) as client:
                await client.listen(1, {EXTENSION: {}})
                client.stop_reading()
                while reminders.stats.streams:
                    await reminders.emit("into a broken pipe")
        return reminders.stats.streams

    assert asyncio.run(go()) == 0
    assert [one.getMessage() for one in caplog.records if one.levelname == "ERROR"] == []


def test_a_write_waits_until_the_client_has_taken_all_of_it_and_so_does_a_flush() -> None:
    async def go() -> tuple[list[bool], int]:
        (source, source_end), (sink_end, sink) = os.pipe(), os.pipe()
        pipe = await open_pipe(source, sink)
        waiting = [asyncio.create_task(pipe.write(b"x" * 100_000)), asyncio.create_task(pipe.flush())]
        for _ in range(10):
            await asyncio.sleep(0)
        before = [task.done() for task in waiting]
        read = 0
        async with asyncio.timeout(DEADLINE):
            while read < 100_000:
                read += len(await asyncio.to_thread(os.read, sink_end, 1 << 16))
            await asyncio.gather(*waiting)
        pipe.close()
        os.close(source_end)
        os.close(sink_end)
        return before, read

    assert asyncio.run(go()) == ([False, False], 100_000)


def test_a_last_line_without_a_line_break_is_read() -> None:
    frames = [*HELLO, {"jsonrpc": "2.0", "id": 2, "method": "ping"}]
    assert [frame["id"] for frame in talk("\n".join(map(json.dumps, frames)))] == [1, 2]


def test_input_from_a_file_is_served_by_the_transport_of_the_sdk(tmp_path: Path) -> None:
    asked = tmp_path / "asked.jsonl"
    asked.write_text("".join(json.dumps(frame) + "\n" for frame in HELLO))
    with asked.open() as source:
        assert [frame["id"] for frame in talk(source)] == [1]


def test_what_the_process_prints_does_not_reach_the_client() -> None:
    code = """
import asyncio
from mcp.server.mcpserver import MCPServer
from tidings.mcp import Reminders, serve_stdio
server = MCPServer("printer", log_level="ERROR")
reminders = Reminders(server)
@server.tool()
async def say() -> str:
    print("hello from print", flush=True)
    return "said"
asyncio.run(serve_stdio(server))
import os
print("after serving", os.get_blocking(0), os.get_blocking(1))
"""
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "say", "arguments": {}}}
    command = [sys.executable, "-c", code]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        for frame in (*HELLO, call):
            server.stdin.write(json.dumps(frame) + "\n")
        server.stdin.flush()
        answers = [json.loads(server.stdout.readline()) for _ in range(2)]
        rest, errors = server.communicate(timeout=DEADLINE)
    assert answers[1]["result"]["content"][0]["text"] == "said"
    assert (rest, "hello from print" in errors, server.returncode) == ("after serving True True\n", True, 0)


def talk(source: Any) -> list[Frame]:
    """The frames that the fixture server answers to what it reads."""
    given = {"input": source} if isinstance(source, str) else {"stdin": source}
    done = subprocess.run(
        [sys.executable, "-m", "tests.mcp.emit.fixture", "low", "stdio"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=True,
        **given,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]
