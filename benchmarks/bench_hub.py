"""The hub under load: reminders per second, records to a thousand readers, latency, memory.

The hub, its peers and this client are processes of their own. Rates are by the clock, turn by turn in one
run: the hub (which answers when the disk has confirmed) beside a bare Starlette endpoint that inserts a row
without a sync, and its live feed beside a raw uvloop protocol that writes prepared bytes.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import selectors
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import msgspec

from benchmarks.hub_peers import EVENT
from benchmarks.measure import Measurement, measurement

CONNECTIONS = 32
READERS = 1_000
SESSIONS = 1_000
BODY = {"body": "src/lib.rs changed in another editor.", "to": {"all": True}, "tags": ["bench"]}


class Hub:
    """A running hub with a home of its own."""

    def __init__(self, folder: Path) -> None:
        self.environ = {
            **os.environ,
            "TIDINGS_HOME": str(folder / "home"),
            "XDG_RUNTIME_DIR": str(folder),
        }
        run = "from tidings.cli.start import run; run()"
        command = [sys.executable, "-c", run, "up", "--port", "0", "--json", "--no-attach", "--quiet"]
        self.process = subprocess.Popen(command, env=self.environ, stdout=subprocess.PIPE, cwd=folder)
        assert self.process.stdout is not None
        told = json.loads(self.process.stdout.readline())
        self.port = int(told["url"].rpartition(":")[2])
        self.socket = str(told["socket"])
        self.token = Path(told["tokenFile"]).read_text()

    def head(self, verb: str, path: str) -> str:
        host = f"Host: 127.0.0.1:{self.port}"
        return f"{verb} {path} HTTP/1.1\r\n{host}\r\nAuthorization: Bearer {self.token}\r\n"

    def ask(self, method: str, **params: object) -> dict[str, object]:
        from tidings.hub.client import ask

        return asyncio.run(ask(self.socket, f"hub/{method}", params))

    @property
    def resident(self) -> float:
        """MiB in memory."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * resource.getpagesize() / 2**20


@contextmanager
def started_hub() -> Iterator[Hub]:
    with tempfile.TemporaryDirectory() as name:
        hub = Hub(Path(name))
        try:
            yield hub
        finally:
            hub.process.terminate()
            hub.process.communicate(timeout=60)


@contextmanager
def started_peer(kind: str) -> Iterator[int]:
    """The port of a peer."""
    with tempfile.TemporaryDirectory() as name:
        command = [sys.executable, "-m", "benchmarks.hub_peers", kind, name]
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()
            process.communicate()


async def _exchange(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, sent: bytes, count: int
) -> None:
    """Send the same request again and again on one connection, each after the last one's answer."""
    for _ in range(count):
        writer.write(sent)
        line = await reader.readline()
        if line.startswith(b"HTTP"):
            assert b" 200 " in line, line
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(
                int(row[15:]) for row in head.lower().split(b"\r\n") if row.startswith(b"content-length:")
            )
            await reader.readexactly(length)
        else:
            assert b'"result"' in line, line


async def _rate(address: int | str, sent: bytes, many: int) -> float:
    """Requests per second over `CONNECTIONS` connections."""
    open_one = (
        (lambda: asyncio.open_unix_connection(address))
        if isinstance(address, str)
        else (lambda: asyncio.open_connection("127.0.0.1", address))
    )
    streams = [await open_one() for _ in range(CONNECTIONS)]
    began = time.perf_counter()
    await asyncio.gather(*(_exchange(*each, sent, many // CONNECTIONS) for each in streams))
    seconds = time.perf_counter() - began
    for _, writer in streams:
        writer.close()
    return many / seconds


def _posted(head: str, body: object) -> bytes:
    data = msgspec.json.encode(body)
    return f"{head}Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data


def _accepting(many: int, rounds: int) -> list[Measurement]:
    with started_hub() as hub, started_peer("insert") as bare:
        line = msgspec.json.encode({"jsonrpc": "2.0", "id": 1, "method": "hub/remind", "params": BODY})
        ways: list[tuple[int | str, bytes]] = [
            (hub.port, _posted(hub.head("POST", "/v1/reminders"), BODY)),
            (hub.socket, line + b"\n"),
            (bare, _posted(f"POST /v1/reminders HTTP/1.1\r\nHost: 127.0.0.1:{bare}\r\n", BODY)),
        ]
        samples = []
        for _ in range(rounds):
            samples.append([asyncio.run(_rate(where, sent, many)) for where, sent in ways])
            hub.ask("clear", tag="bench")
    http, unix, raw = (statistics.median(column) for column in zip(*samples, strict=True))
    detail = f"{http:.0f}/s, socket {unix:.0f}/s, bare Starlette {raw:.0f}/s; {CONNECTIONS} connections"
    return [
        measurement(
            "reminders accepted over HTTP, to bare Starlette inserting a row", http / raw, detail=detail
        ),
        measurement("reminders accepted over the socket, to the same", unix / raw, detail=detail),
    ]


class Crowd:
    """Readers of an event stream, counted by one selector."""

    def __init__(self, port: int, request: bytes) -> None:
        self._selector = selectors.DefaultSelector()
        self._parts: dict[int, bytes] = {}
        self.events = 0
        for _ in range(READERS):
            one = socket.create_connection(("127.0.0.1", port))
            one.sendall(request)
            self._selector.register(one, selectors.EVENT_READ)
        self._settle()

    def _settle(self) -> None:
        """Read what every stream begins with: its head, and for the hub a comment."""
        waiting = set(self._selector.get_map())
        while waiting:
            waiting -= {key.fd for key in self._read(10.0)}
        while self._read(0.3):
            continue
        self.events = 0

    def take(self, events: int) -> None:
        """Read until that many more events have come."""
        wanted = self.events + events
        while self.events < wanted:
            assert self._read(30.0), f"{wanted - self.events} of {events} events did not come"

    def _read(self, seconds: float) -> list[selectors.SelectorKey]:
        keys = [key for key, _ in self._selector.select(seconds)]
        for key in keys:
            sock = key.fileobj
            assert isinstance(sock, socket.socket)
            data = sock.recv(1 << 18)
            assert data, "a stream ended"
            self.events += data.count(b"id: ")
        return keys

    def close(self) -> None:
        for key in list(self._selector.get_map().values()):
            sock = key.fileobj
            assert isinstance(sock, socket.socket)
            sock.close()
        self._selector.close()


def _fan_out(many: int, rounds: int) -> list[Measurement]:
    with ExitStack() as parts:
        hub = parts.enter_context(started_hub())
        raw = parts.enter_context(started_peer("raw"))
        hub.ask("register", sessionId="bench")
        path = "/v1/records?sessionId=bench"
        crowd = Crowd(hub.port, f"{hub.head('GET', path)}\r\n".encode())
        raw_crowd = Crowd(raw, b"GET / HTTP/1.1\r\n\r\n")
        tell = parts.enter_context(socket.socket(socket.AF_UNIX))
        tell.connect(hub.socket)
        trigger = parts.enter_context(socket.create_connection(("127.0.0.1", raw)))
        told = iter(range(1, 1 << 40))

        def ours() -> None:
            record = {"cursor": next(told), "kind": "bench", "atMs": 1, "payload": {"x": "x" * 200}}
            params = {"sessionId": "bench", "epoch": "e", "stream": "lifecycle", "records": [record]}
            call = {"jsonrpc": "2.0", "id": 1, "method": "hub/tell", "params": params}
            tell.sendall(msgspec.json.encode(call) + b"\n")
            assert b'"result"' in tell.recv(65536)

        def theirs() -> None:
            trigger.sendall(b"event\n")
            trigger.recv(100)

        samples = [
            (_deliveries(crowd, ours, many), _deliveries(raw_crowd, theirs, many)) for _ in range(rounds)
        ]
        crowd.close()
        raw_crowd.close()
    mine = statistics.median(a for a, _ in samples)
    other = statistics.median(b for _, b in samples)
    return [
        measurement(
            f"records to {READERS} readers, to a raw uvloop protocol",
            statistics.median(a / b for a, b in samples),
            target=">= 0.55",
            detail=f"{mine:.0f}/s, raw {other:.0f}/s; events of about {len(EVENT)} bytes",
        )
    ]


def _deliveries(crowd: Crowd, event: Callable[[], None], many: int) -> float:
    """Events that reach readers per second; each is sent when all have the one before."""
    began = time.perf_counter()
    for _ in range(many):
        event()
        crowd.take(READERS)
    return many * READERS / (time.perf_counter() - began)


async def _heard(hub: Hub, many: int) -> list[float]:
    """Seconds from asking the hub to remind until the reminder was in an answered request."""
    import tidings as td
    from tidings.agent.models.scripted import ScriptedModel, call
    from tidings.agent.tools.approval import Gate
    from tidings.agent.tools.rules import Rule
    from tidings.core.records import LIFECYCLE_TOPIC
    from tidings.hub import Attached
    from tidings.hub.client import ask

    log = td.open_log("memory:")
    over = asyncio.Event()

    async def work() -> str:
        """Do a millisecond of work."""
        await asyncio.sleep(0.001)
        return "done"

    def step(_: object) -> object:
        return "finished" if over.is_set() else call("work")

    async def send() -> list[float]:
        waits = []
        for _ in range(many):
            began = time.perf_counter()
            told = await ask(
                hub.socket, "hub/remind", {"body": "x", "to": {"session": "loop"}, "ttlTurns": 1}
            )
            kind = "transcript.reminder.fired"
            async for record in log.subscribe(LIFECYCLE_TOPIC, kind_prefix=kind):
                if record.payload["reminder_id"] == told["reminderId"]:
                    break
            waits.append(time.perf_counter() - began)
        over.set()
        return waits

    session = td.Session("loop", log=log)
    model = ScriptedModel([step] * 100_000)
    async with Attached(session, socket=hub.socket):
        sending = asyncio.create_task(send())
        await td.agent_loop(
            "Work.",
            "sys",
            model=model,
            tools=[work],
            session=session,
            max_iterations=100_000,
            approval=Gate([Rule(action="allow")]),
            reminders=False,
        )
        return await sending


def _latency(many: int) -> list[Measurement]:
    with started_hub() as hub:
        waits = sorted(asyncio.run(_heard(hub, many)))
    p50, p99 = waits[len(waits) // 2] * 1e3, waits[int(len(waits) * 0.99)] * 1e3
    return [
        measurement(
            "`remind` to `fired` in a running loop, p50",
            p50,
            unit="ms",
            detail=f"p99 {p99:.1f} ms; turns of 1 ms",
        )
    ]


def _memory() -> list[Measurement]:
    with started_hub() as hub:
        before = hub.resident
        asyncio.run(_register(hub, SESSIONS))
        after = hub.resident
    return [
        measurement(
            f"memory of the hub with {SESSIONS} sessions",
            after,
            unit="MiB",
            target="<= 200",
            detail=f"{before:.0f} MiB when empty; {(after - before) * 1024 / SESSIONS:.1f} KiB a session",
        )
    ]


async def _register(hub: Hub, many: int) -> None:
    from tidings.hub.client import ask

    for number in range(many):
        about = {"sessionId": f"s{number}", "agent": "coder", "workspace": "/", "tags": ["bench"]}
        await ask(hub.socket, "hub/register", about)


def run(quick: bool) -> list[Measurement]:
    """All of it."""
    _allow_files()
    return [
        *_accepting(320 if quick else 3_200, 1 if quick else 5),
        *_fan_out(2 if quick else 30, 1 if quick else 5),
        *_latency(5 if quick else 200),
        *_memory(),
    ]


def _allow_files() -> None:
    """Two thousand sockets need as many descriptors."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 8192)), hard))
