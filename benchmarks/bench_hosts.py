"""Hook calls of coding agents: how long the hub takes to answer, and what the command costs to start.

The hub is a process of its own, beside a bare ASGI application under uvicorn that reads the same body and
answers `{}`. Both are asked turn by turn on connections that stay open. The command is timed from start to
end, beside the same interpreter doing nothing.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.bench_hub import Hub, started_hub
from benchmarks.measure import Measurement, measurement

WORKSPACE = "/workspace/harbor"
REMINDERS = 20
SCRIPT = Path(__file__).parents[1] / "src" / "tidings" / "cli" / "hook" / "call.py"


class Asker:
    """One kept connection, and a path to post hook payloads to."""

    def __init__(self, port: int, path: str, token: str = "") -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._path = path
        self._headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}

    def ask(self, body: bytes) -> float:
        """Seconds until the answer was there."""
        began = time.perf_counter()
        self._connection.request("POST", self._path, body, self._headers)
        answer = self._connection.getresponse()
        answer.read()
        took = time.perf_counter() - began
        assert answer.status == 200, answer.status
        return took

    def close(self) -> None:
        self._connection.close()


async def bare(scope: Any, receive: Any, send: Any) -> None:
    """Reads a body and answers with an empty object."""
    assert scope["type"] == "http"
    more = True
    while more:
        more = (await receive()).get("more_body", False)
    headers = [(b"content-type", b"application/json"), (b"content-length", b"2")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"{}"})


@contextmanager
def started_bare() -> Iterator[int]:
    """The port of the bare application."""
    process = subprocess.Popen([sys.executable, "-m", "benchmarks.bench_hosts"], stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.communicate()


def serve_bare() -> None:
    import uvicorn

    listener = socket.create_server(("127.0.0.1", 0))
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    print(listener.getsockname()[1], flush=True)
    config = uvicorn.Config(bare, access_log=False, log_level="error", lifespan="off", ws="none")
    asyncio.run(uvicorn.Server(config).serve(sockets=[listener]))


def batch(number: int) -> bytes:
    """The end of a batch of tools, as Claude Code reports it."""
    call = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": f"call_{number}"}
    return json.dumps(
        {
            "session_id": "bench",
            "transcript_path": "/nowhere/bench.jsonl",
            "cwd": WORKSPACE,
            "hook_event_name": "PostToolBatch",
            "permission_mode": "default",
            "tool_calls": [{**call, "tool_response": "README.md\n" * 50}],
        }
    ).encode()


def late(samples: list[float]) -> float:
    return sorted(samples)[int(len(samples) * 0.99)]


def _empty(hub: Hub, plain: int, many: int) -> Measurement:
    ours, theirs = Asker(hub.port, "/v1/hosts/claude-code/hook", hub.token), Asker(plain, "/")
    pairs = []
    for number in range(many + 50):
        pairs.append((ours.ask(batch(number)), theirs.ask(batch(number))))
    ours.close()
    theirs.close()
    drains, bares = ([pair[side] for pair in pairs[50:]] for side in (0, 1))
    ours_half, bare_half = statistics.median(drains) * 1e6, statistics.median(bares) * 1e6
    return measurement(
        "drain of an empty mailbox over HTTP, p99 to a bare uvicorn endpoint",
        late(drains) / late(bares),
        target="<= 3",
        detail=f"{late(drains) * 1e6:.0f} µs, bare {late(bares) * 1e6:.0f} µs; "
        f"medians {ours_half:.0f} µs, {bare_half:.0f} µs",
    )


def _full(hub: Hub, many: int) -> Measurement:
    asker = Asker(hub.port, "/v1/hosts/claude-code/hook", hub.token)
    sender = Asker(hub.port, "/v1/reminders", hub.token)
    empty, full = [], []
    for number in range(many):
        for each in range(REMINDERS):
            about = {"body": f"Number {each} changed on disk.", "to": {"session": "claude-code:bench"}}
            sender.ask(json.dumps({**about, "ttlTurns": 2}).encode())
        full.append(asker.ask(batch(1_000_000 + 4 * number)))
        for following in (1, 2):
            asker.ask(batch(1_000_000 + 4 * number + following))
        empty.append(asker.ask(batch(1_000_003 + 4 * number)))
    asker.close()
    sender.close()
    one, other = statistics.median(full), statistics.median(empty)
    return measurement(
        f"drain with {REMINDERS} reminders over HTTP, to an empty one",
        one / other,
        target="<= 2",
        detail=f"{one * 1e6:.0f} µs, empty {other * 1e6:.0f} µs, medians",
    )


def _started(command: list[str], environ: dict[str, str], given: bytes) -> float:
    began = time.perf_counter()
    subprocess.run(command, env=environ, input=given, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


def _command(hub: Hub, rounds: int) -> list[Measurement]:
    ways = [
        [sys.executable, "-I", "-S", str(SCRIPT), "claude-code"],
        [sys.executable, "-c", "from tidings.cli.start import run; run()", "hook", "claude-code"],
        [sys.executable, "-c", "pass"],
    ]
    samples = [[_started(way, hub.environ, batch(2_000_000 + n)) for way in ways] for n in range(rounds)]
    small, whole, nothing = (statistics.median(column) for column in zip(*samples, strict=True))
    detail = (
        f"{small * 1e3:.1f} ms, `-c pass` {nothing * 1e3:.1f} ms; as `tidings hook` {whole * 1e3:.1f} ms"
    )
    return [
        measurement(
            "the hook command with its answer, to the interpreter's own start",
            small / nothing,
            target="<= 2",
            detail=detail,
        ),
        measurement(
            "`tidings hook` with its answer, to the interpreter's own start", whole / nothing, target="<= 2"
        ),
    ]


def run(quick: bool) -> list[Measurement]:
    """The empty drain, the full one, and the command."""
    with started_hub() as hub, started_bare() as plain:
        return [
            _empty(hub, plain, 100 if quick else 3_000),
            _full(hub, 5 if quick else 150),
            *_command(hub, 3 if quick else 40),
        ]


if __name__ == "__main__":
    serve_bare()
