"""The live feed: every record once and in order, resumed from a cursor, never queued for a slow reader."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from starlette.types import Message, Scope

from tests.hub.desks import DEADLINE, Clock, memory_hub, register, remind
from tests.hub.running import Client, running
from tidings.hub.feed import DROPPED, Feed
from tidings.hub.service import Hub
from tidings.hub.store import TOPIC


class Reader:
    """The other end of a stream: takes chunks while `open` is set."""

    def __init__(self) -> None:
        self.chunks: asyncio.Queue[bytes] = asyncio.Queue()
        self.status = 0
        self.over = False
        self.open = asyncio.Event()
        self.open.set()
        self.gone = asyncio.Event()

    async def receive(self) -> Message:
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            return
        await self.open.wait()
        self.over = not message.get("more_body", False)
        for event in filter(None, message["body"].split(b"\n\n")):
            self.chunks.put_nowait(event)

    async def event(self) -> dict[str, str]:
        """The next event, past comments."""
        while (chunk := (await self.chunks.get()).decode()).startswith(":"):
            continue
        return dict(line.split(": ", 1) for line in chunk.strip().splitlines())


def scope(query: str = "", last: str | None = None) -> Scope:
    headers = [] if last is None else [(b"last-event-id", last.encode())]
    return {
        "type": "http",
        "method": "GET",
        "path": "/",
        "query_string": query.encode(),
        "headers": headers,
    }


async def three_records(hub: Hub) -> None:
    await register(hub, "s")
    await remind(hub, "hello", {"session": "s"}, id="r1")


def test_a_reader_gets_history_then_news_and_resumes_behind_its_last_event() -> None:
    async def scene() -> None:
        hub = memory_hub(Clock())
        await three_records(hub)
        feed, reader = Feed(hub), Reader()
        task = asyncio.create_task(feed(scope(), reader.receive, reader.send))
        first = [await reader.event() for _ in range(3)]
        kinds = ["hub.session.registered", "hub.reminder.accepted", "hub.reminder.addressed"]
        assert [(one["id"], json.loads(one["data"])["kind"]) for one in first] == [
            (str(number), kind) for number, kind in enumerate(kinds, 1)
        ]
        await register(hub, "t")
        assert (await reader.event())["id"] == "4"
        assert hub.status().subscribers == 1
        reader.gone.set()
        await task
        assert (hub.status().subscribers, reader.over, reader.status) == (0, True, 200)

        again = Reader()
        task = asyncio.create_task(feed(scope("fromCursor=0", last="3"), again.receive, again.send))
        assert (await again.event())["id"] == "4"
        feed.close()
        await task

    asyncio.run(asyncio.wait_for(scene(), DEADLINE))


def test_a_reader_that_takes_nothing_is_let_go_with_a_record() -> None:
    async def scene() -> None:
        hub = memory_hub(Clock())
        feed, reader = Feed(hub, send_seconds=0.01), Reader()
        task = asyncio.create_task(feed(scope(), reader.receive, reader.send))
        await reader.chunks.get()
        reader.open.clear()
        await register(hub, "s")
        async for record in hub.store.log.subscribe(TOPIC, kind_prefix=DROPPED):
            assert record.payload == {"reason": "stalled", "resume_from": 0}
            break
        reader.open.set()
        await asyncio.wait({task})
        assert hub.subscribers == 0

    asyncio.run(asyncio.wait_for(scene(), DEADLINE))


def test_over_http_a_stream_is_events_and_ends_with_the_hub(tmp_path: Path) -> None:
    async def scene() -> None:
        async with running(tmp_path) as client:
            await client.ask("POST", "/v1/sessions", {"sessionId": "s"})
            bad = await client.ask("GET", "/v1/records?fromCursor=-1")
            assert (bad.status, (await client.ask("GET", "/v1/records?x=1")).status) == (400, 400)
            reader, writer = await asyncio.open_connection("127.0.0.1", client.port)
            writer.write(request(client))
            head = await reader.readuntil(b"\r\n\r\n")
            assert b"200 OK" in head
            assert b"text/event-stream" in head
            assert b"hub.session.registered" in await reader.readuntil(b"hub.session.registered")
        assert (await reader.read()).endswith(b"0\r\n\r\n")
        writer.close()

    asyncio.run(asyncio.wait_for(scene(), DEADLINE))


def request(client: Client) -> bytes:
    lines = (
        "GET /v1/records HTTP/1.1",
        f"Host: 127.0.0.1:{client.port}",
        f"Authorization: Bearer {client.token}",
        "\r\n",
    )
    return "\r\n".join(lines).encode()
