"""Over HTTP: the GET stream of the handshake era, header mismatches, caching hints, refusals."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
import uvicorn
from mcp.server.lowlevel import Server
from starlette.responses import StreamingResponse as Response

from tests.mcp.emit.fixture import KINDS, high
from tests.mcp.emit.raw import DEADLINE, Frame, envelope, reached
from tests.mcp.emit.test_shutdown import ACCEPT, Sse, handshake, listening, modern_headers, request
from tidings.errors import CallerError
from tidings.mcp import Reminders, serving
from tidings.mcp.emit.http import with_code
from tidings.mcp.names import EXTENSION, METHOD, SESSION_META, SUBSCRIPTION_META

Play = Callable[[httpx2.AsyncClient, str, Reminders], Awaitable[Any]]


def play(script: Play, reminders: Reminders | None = None, **options: Any) -> Any:
    async def go() -> Any:
        made = reminders or high()
        async with (
            asyncio.timeout(DEADLINE),
            serving(made.server, deadline=2, **options) as url,
            httpx2.AsyncClient(timeout=DEADLINE) as client,
        ):
            return await script(client, url, made)

    return asyncio.run(go())


def body(frame: Frame) -> object:
    return frame["params"]["reminder"]["body"]


@asynccontextmanager
async def get_stream(client: httpx2.AsyncClient, url: str, session: dict[str, str]) -> AsyncIterator[Sse]:
    headers = {"Accept": "text/event-stream", **session}
    async with client.stream("GET", url, headers=headers) as response:
        assert response.status_code == 200
        yield Sse(response)


def test_what_is_emitted_before_the_get_stream_is_open_waits_for_it() -> None:
    async def script(client: httpx2.AsyncClient, url: str, reminders: Reminders) -> list[object]:
        await reminders.emit("before the session")
        session = await handshake(client, url)
        for number in range(5):
            await reminders.emit(f"before the stream {number}")
        await client.post(url, json=request(2, "ping", {}), headers={**ACCEPT, **session})
        assert reminders.stats.sent == 0
        async with get_stream(client, url, session) as stream:
            found = [body(await stream.next()) for _ in range(6)]
            await reminders.emit("while it is open")
            return [*found, body(await stream.next())]

    assert play(script) == [
        "before the session",
        *(f"before the stream {number}" for number in range(5)),
        "while it is open",
    ]


def test_what_is_emitted_between_two_get_streams_comes_on_the_second() -> None:
    async def script(client: httpx2.AsyncClient, url: str, reminders: Reminders) -> list[object]:
        session = await handshake(client, url)
        async with get_stream(client, url, session) as stream:
            await reminders.emit("first stream")
            first = body(await stream.next())
        connection = next(iter(reminders.delivery._connections.values()))
        await reached(lambda: not connection.up)
        await reminders.emit("meanwhile")
        async with get_stream(client, url, session) as stream:
            return [first, body(await stream.next())]

    assert play(script) == ["first stream", "meanwhile"]


def test_another_page_that_is_fetched_with_a_session_is_no_get_stream() -> None:
    reminders = high()

    @reminders.server.custom_route("/health", methods=["GET"])
    async def health(_: Any) -> Response:
        return Response(stream(), media_type="text/plain")

    async def script(client: httpx2.AsyncClient, url: str, reminders: Reminders) -> int:
        session = await handshake(client, url)
        page = url.replace("/mcp", "/health")
        answered = await client.get(page, headers=session)
        assert (answered.status_code, answered.text) == (200, "fine")
        return reminders.stats.sent

    async def stream() -> AsyncIterator[str]:
        await reminders.emit("waits for the real stream")
        await asyncio.sleep(0)
        yield "fine"

    assert play(script, reminders) == 0


def test_a_second_initialized_loses_nothing_that_waits() -> None:
    async def script(client: httpx2.AsyncClient, url: str, reminders: Reminders) -> object:
        session = await handshake(client, url)
        headers = {**ACCEPT, **session}
        await client.post(url, json=request(2, "ping", {}), headers=headers)
        await reminders.emit("waits")
        again = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        await client.post(url, json=again, headers=headers)
        await client.post(url, json=request(3, "ping", {}), headers=headers)
        async with get_stream(client, url, session) as stream:
            return body(await stream.next())

    assert play(script) == "waits"


def test_a_reminder_for_a_conversation_goes_to_the_session_that_named_it() -> None:
    async def script(client: httpx2.AsyncClient, url: str, reminders: Reminders) -> list[object]:
        one, two = await handshake(client, url), await handshake(client, url)
        named = request(2, "ping", {"_meta": {SESSION_META: "s2"}})
        await client.post(url, json=named, headers={**ACCEPT, **two})
        async with get_stream(client, url, one) as first, get_stream(client, url, two) as second:
            await reminders.emit("for s2", session="s2")
            await reminders.emit("for all")
            return [body(await first.next()), body(await second.next()), body(await second.next())]

    assert play(script) == ["for all", "for s2", "for all"]


def test_in_front_of_a_server_that_is_run_otherwise_the_first_request_brings_what_waited() -> None:
    async def go() -> tuple[list[object], object]:
        reminders = high()
        config = uvicorn.Config(
            reminders.server.streamable_http_app(), port=0, log_config=None, timeout_graceful_shutdown=1
        )
        server = uvicorn.Server(config)
        task = asyncio.create_task(server.serve())
        async with asyncio.timeout(DEADLINE):
            await reached(lambda: server.started)
            port = server.servers[0].sockets[0].getsockname()[1]
            url = f"http://127.0.0.1:{port}/mcp"
            async with httpx2.AsyncClient(timeout=DEADLINE) as client:
                session = await handshake(client, url)
                await reminders.emit("waited")
                async with client.stream(
                    "POST", url, json=request(2, "ping", {}), headers={**ACCEPT, **session}
                ) as response:
                    first, answer = await Sse(response).rest()
                async with get_stream(client, url, session) as stream:
                    await reminders.emit("pushed")
                    pushed = body(await stream.next())
            server.should_exit = True
            await task
        return [body(first), answer["id"]], pushed

    assert asyncio.run(go()) == (["waited", 2], "pushed")


@pytest.mark.parametrize(
    ("profile", "code"), [("2026-07-28", -32020), ("draft-2026-06", -32001)], ids=["released", "draft"]
)
@pytest.mark.parametrize(
    "wrong",
    [{"Mcp-Name": None}, {"Mcp-Name": "another"}, {"Mcp-Method": None}, {"Mcp-Method": "tools/list"}],
)
def test_headers_that_do_not_match_the_body_are_refused_with_400(
    profile: str, code: int, wrong: dict[str, str | None]
) -> None:
    async def script(client: httpx2.AsyncClient, url: str, _: Reminders) -> tuple[int, object, object]:
        params = {"name": "emit", "arguments": {}, "_meta": envelope()}
        headers = {**modern_headers("tools/call", "emit"), **wrong}
        sent = {name: value for name, value in headers.items() if value is not None}
        answered = await client.post(url, json=request("h", "tools/call", params), headers=sent)
        error = answered.json()
        return answered.status_code, error["id"], error["error"]["code"]

    assert play(script, high(profile=profile)) == (400, "h", code)


def test_the_draft_profile_changes_no_other_refusal() -> None:
    async def script(client: httpx2.AsyncClient, url: str, _: Reminders) -> tuple[int, int]:
        params = {"notifications": {EXTENSION: {}}, "_meta": envelope(declare=False)}
        headers = modern_headers("subscriptions/listen")
        answered = await client.post(url, json=request(1, "subscriptions/listen", params), headers=headers)
        return answered.status_code, answered.json()["error"]["code"]

    assert play(script, high(profile="draft-2026-06")) == (400, -32021)
    assert play(script) == (400, -32021)


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (b'{"error":{"code":-32020,"message":"m"}}', b'{"error":{"code":-32001,"message":"m"}}'),
        (b'{"error":{"code":-32602}}', b'{"error":{"code":-32602}}'),
        (b'{"error":-32020}', b'{"error":-32020}'),
        (b"[-32020]", b"[-32020]"),
        (b"not json", b"not json"),
    ],
)
def test_only_the_code_of_a_mismatch_is_written_anew(told: bytes, expected: bytes) -> None:
    assert with_code(told, -32020, -32001) == expected


@pytest.mark.parametrize("kind", KINDS)
def test_results_say_how_long_they_may_be_kept(kind: str) -> None:
    async def script(client: httpx2.AsyncClient, url: str, _: Reminders) -> list[object]:
        found = []
        for method in ("tools/list", "server/discover"):
            asked = request(1, method, {"_meta": envelope()})
            answered = await client.post(url, json=asked, headers=modern_headers(method))
            result = answered.json()["result"]
            found.append((method, result["ttlMs"], result["cacheScope"]))
        return found

    assert play(script, KINDS[kind]()) == [
        ("tools/list", 60_000, "public"),
        ("server/discover", 0, "private"),
    ]


def test_closing_the_response_cancels_the_stream() -> None:
    async def script(client: httpx2.AsyncClient, url: str, reminders: Reminders) -> int:
        async with listening(client, url, 1) as stream:
            await stream.next()
            assert reminders.stats.streams == 1
        await reached(lambda: reminders.stats.streams == 0)
        await reminders.emit("nobody listens")
        return reminders.stats.waiting

    assert play(script) == 1


def test_clients_that_use_the_same_request_id_have_streams_of_their_own() -> None:
    async def script(client: httpx2.AsyncClient, url: str, reminders: Reminders) -> list[Frame]:
        async with listening(client, url, 1) as one, listening(client, url, 1) as two:
            await one.next()
            await two.next()
            await reminders.emit("to each")
            return [await one.next(), await two.next()]

    one, two = play(script)
    assert one == two
    assert (one["method"], one["params"]["_meta"]) == (METHOD, {SUBSCRIPTION_META: 1})


def test_a_server_without_reminders_is_refused() -> None:
    async def go() -> None:
        async with serving(Server("plain")):
            pass

    with pytest.raises(CallerError, match="has no reminders; make them first"):
        asyncio.run(go())


def test_at_the_end_of_the_block_streams_get_their_result() -> None:
    async def go() -> list[Frame]:
        reminders = high()
        async with asyncio.timeout(DEADLINE), httpx2.AsyncClient(timeout=DEADLINE) as client:
            serves = serving(reminders.server, deadline=2)
            url = await serves.__aenter__()
            async with listening(client, url, "x") as stream:
                await stream.next()
                _, found = await asyncio.gather(serves.__aexit__(None, None, None), stream.rest())
                return found

    assert [frame["id"] for frame in asyncio.run(go())] == ["x"]
