"""A session that tells the hub what happens in it: everything once, also across interruptions."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

import tidings as td
from tests.hub.desks import DEADLINE
from tests.hub.running import place_in, running
from tests.rendering.test_places import text_at
from tidings.agent.models.scripted import ScriptedModel, call
from tidings.bridge.rpc import UNKNOWN_SESSION, RpcError
from tidings.core.records import LIFECYCLE_TOPIC, transcript_topic
from tidings.core.reminder import Payload
from tidings.hub import Attached, fitting, streams
from tidings.hub.client import ask
from tidings.hub.fitting import fitted, size_of
from tidings.hub.shapes import TellRecord
from tidings.hub.streams import Requests
from tidings.log import EventLog, open_log
from tidings.log.memory import MemoryLog

ROUTES = (
    "anthropic/claude-opus-4-1", "anthropic/claude-opus-5-5", "openai/gpt-5", "openai-responses/gpt-5",
    "gemini/gemini-2.5-pro", "openai-compatible/scripted",
)  # fmt: skip


async def told(socket: str, stream: str, name: str = "s") -> list[Payload]:
    try:
        answer = await ask(socket, "hub/told", {"sessionId": name})
    except RpcError as error:
        if error.code == UNKNOWN_SESSION:
            return []
        raise
    records: list[Payload] = answer["records"]  # type: ignore[assignment]
    return [one for one in records if one["stream"] == stream]


async def until_told(socket: str, stream: str, count: int) -> list[Payload]:
    """Ask until so many records were told; the test's deadline bounds it."""
    while len(found := await told(socket, stream)) < count:
        continue
    return found


def logged(log: EventLog, topic: str) -> list[Payload]:
    return [
        {"seq": one.cursor, "kind": one.kind, "atMs": one.occurred_at_ms, "payload": one.payload}
        for one in log.read(topic)
    ]


def without_place(records: list[Payload]) -> list[Payload]:
    return [{name: one[name] for name in ("seq", "kind", "atMs", "payload")} for one in records]


def play(work: Callable[[], object]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(DEADLINE):
            await work()  # type: ignore[misc]

    asyncio.run(bounded())


@pytest.mark.parametrize("route", ROUTES)
def test_the_hub_knows_the_log_of_a_session_and_what_its_requests_showed(
    tmp_path: Path, route: str
) -> None:
    async def scene() -> None:
        log, socket = open_log("memory:"), place_in(tmp_path).socket
        session = td.Session("s", log=log)
        model = ScriptedModel([call("look"), "done"], route=route)

        @td.tool(read_only=True)
        async def look() -> str:
            """Look."""
            for number, hint in enumerate(("system", "user_block")):
                session.remind(id=f"r{number}", body=f"news <{number}>", role_hint=hint)
            session.remind({"id": "x", "body": "quoted"}, producer="mcp", origin="make")
            return "looked"

        async with running(tmp_path):
            async with Attached(session, socket=socket):
                await td.agent_loop("Look.", model=model, session=session, tools=[look])
            assert without_place(await told(socket, "transcript")) == logged(log, transcript_topic("s"))
            assert without_place(await told(socket, "lifecycle")) == logged(log, LIFECYCLE_TOPIC)
            first, second = [one["payload"] for one in await told(socket, "requests")]
        assert isinstance(first, dict)
        assert isinstance(second, dict)
        assert (first["turn"], first["rendered"], first["route"]) == (1, [], model.route.name)
        assert {one["reminder_id"] for one in second["rendered"]} == {"r0", "r1", "x"}
        for one in second["rendered"]:
            assert one["fragment"] in text_at(model.requests[1], one["path"])
        assert "news &lt;0&gt;" in str(second["rendered"]) or "news <0>" in str(second["rendered"])

    play(scene)


def test_a_session_without_a_log_is_told_of_too_from_the_transcript_that_it_has(tmp_path: Path) -> None:
    async def scene() -> None:
        socket = place_in(tmp_path).socket
        session = td.Session("s")
        await td.agent_loop("Before.", model=ScriptedModel(["one"]), session=session)
        async with running(tmp_path):
            async with Attached(session, socket=socket):
                await td.agent_loop("Now.", model=ScriptedModel(["two"]), session=session)
            records = await told(socket, "transcript")
            assert records[0]["kind"] == "transcript.snapshot"
            assert "Before." in json.dumps(records[0])
            assert "Now." in json.dumps(records[1:])
            (row,) = (await ask(socket, "hub/sessions", {"ended": True}))["sessions"]  # type: ignore[misc]
            assert (row["state"], row["delivery"]) == ("ended", "transcript")
        assert session.journal is None

    play(scene)


def test_a_hub_that_goes_and_comes_misses_nothing_and_is_told_nothing_twice(tmp_path: Path) -> None:
    async def scene() -> None:
        log, socket = open_log("memory:"), place_in(tmp_path).socket
        session = td.Session("s", log=log)
        joined = Attached(session, socket=socket)
        async with running(tmp_path):
            await joined.__aenter__()
            await td.llm_call("one", model=ScriptedModel(["1"]), session=session)
            await until_told(socket, "requests", 1)
        await td.llm_call("two", model=ScriptedModel(["2"]), session=session)
        async with running(tmp_path):
            await td.llm_call("three", model=ScriptedModel(["3"]), session=session)
            await until_told(socket, "requests", 3)
            await joined.__aexit__(None, None, None)
            again = Attached(td.Session("s", log=log), socket=socket)
            async with again:
                await td.llm_call("four", model=ScriptedModel(["4"]), session=again.session)
            assert without_place(await told(socket, "transcript")) == logged(log, transcript_topic("s"))
            shown = [(one["seq"], one["payload"]["turn"]) for one in await told(socket, "requests")]  # type: ignore[index]
            assert shown == [(1, 1), (2, 2), (3, 3), (4, 4)]

    play(scene)


def test_of_a_log_that_sessions_share_each_tells_what_is_its_own(tmp_path: Path) -> None:
    async def scene() -> None:
        log, socket = open_log("memory:"), place_in(tmp_path).socket
        ours, theirs = td.Session("s", log=log), td.Session("t", log=log)
        async with running(tmp_path):
            async with Attached(ours, socket=socket):
                for session in (theirs, ours, theirs, ours):
                    session.remind(body=f"for {session.id}", ttl_turns=1)
                    await td.agent_loop("Go.", model=ScriptedModel(["ok"]), session=session)
            records = await told(socket, "lifecycle")
        expected = [one for one in logged(log, LIFECYCLE_TOPIC) if one["payload"]["session_id"] == "s"]  # type: ignore[index]
        assert 0 < len(expected) < log.latest(LIFECYCLE_TOPIC)
        assert without_place(records) == expected

    play(scene)


def test_another_log_behind_the_same_id_is_told_from_its_beginning(tmp_path: Path) -> None:
    async def scene() -> None:
        socket = place_in(tmp_path).socket
        async with running(tmp_path):
            for words in ("one", "two"):
                session = td.Session("s", log=open_log("memory:"))
                async with Attached(session, socket=socket):
                    await td.llm_call(words, model=ScriptedModel(["ok"]), session=session)
            records = await told(socket, "transcript")
            starts = [one for one in records if "epoch" in one]
            assert [one["seq"] for one in starts] == [1, 1]
            assert len({str(one["epoch"]) for one in starts}) == 2

    play(scene)


def test_what_no_request_can_carry_is_cut_with_a_word_that_says_so(tmp_path: Path) -> None:
    long = "x" * 2_000_000

    async def scene() -> None:
        socket = place_in(tmp_path).socket
        session = td.Session("s", log=open_log("memory:"))
        async with running(tmp_path):
            async with Attached(session, socket=socket):
                await td.llm_call(long, model=ScriptedModel(["short"]), session=session)
            records = await told(socket, "transcript")
        (said,) = [one for one in records if "xxx" in str(one["payload"])]
        assert f"{'x' * 100}… [{len(long) - 32_768} more characters]" in str(said["payload"])
        assert "short" in str(records[-1]) or "short" in str(records)

    play(scene)


def test_a_record_that_still_does_not_fit_is_told_by_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "LONGEST", 2_000)
    record = TellRecord(cursor=1, kind="k", at_ms=1, payload={"a": ["y" * 9_000], "b": {"c": "z"}})
    assert fitted(record).payload == {"a": [f"{'y' * 512}… [8488 more characters]"], "b": {"c": "z"}}
    bulky = TellRecord(cursor=1, kind="k", at_ms=1, payload={"a": list(range(5_000))})
    assert fitted(bulky).payload == {"cut_bytes": size_of(bulky)}


def test_a_lag_is_recorded_and_the_rest_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "REQUESTS", 2)

    async def scene() -> None:
        log, socket = MemoryLog(capacity=40), place_in(tmp_path).socket
        session = td.Session("s", log=log)
        async with AsyncExitStack() as later:
            async with running(tmp_path):
                await later.enter_async_context(Attached(session, socket=socket))
                await td.llm_call("first", model=ScriptedModel(["ok"]), session=session)
                await until_told(socket, "requests", 1)
                before = len(await until_told(socket, "transcript", log.latest(transcript_topic("s"))))
            for number in range(30):
                await td.llm_call(f"{number}", model=ScriptedModel(["ok"]), session=session)
            async with running(tmp_path):
                await until_told(socket, "transcript", before + 40)
                requests = await until_told(socket, "requests", 3)
                assert [one["payload"]["turn"] for one in requests] == [1, 30, 31]  # type: ignore[index]
                warnings: list[str] = []
                async for record in log.subscribe(LIFECYCLE_TOPIC, log.purged_through(LIFECYCLE_TOPIC)):
                    if record.payload.get("code") == "hub_lagged":
                        warnings.append(str(record.payload["message"]))
                    if len(warnings) == 2:
                        break
        gone = log.purged_through(transcript_topic("s")) - before
        assert sorted(text.rpartition("; ")[2] for text in warnings) == [
            f"{gone} records of stream transcript were gone",
            "28 records of stream requests were dropped untold",
        ]

    play(scene)


def test_the_numbers_of_requests_go_on_whatever_was_lost_or_told_by_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(streams, "REQUESTS", 3)

    async def scene() -> None:
        requests = Requests(asyncio.Event())

        def numbers(position: int) -> list[int]:
            return [record.cursor for batch in requests.now(position) for record in batch]

        for number in range(5):
            requests._take({"n": number}, 0)
        assert (numbers(10), requests.lost) == ([11, 12, 13], 2)
        assert numbers(12) == [13]
        assert numbers(10) == [13]
        assert numbers(40) == [41]
        requests._take({"n": 9}, 0)
        assert numbers(41) == [42]

    play(scene)


def test_a_patient_session_without_a_hub_computes_nothing_and_leaves_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed: list[object] = []
    monkeypatch.setattr(streams, "rendered", computed.append)

    async def scene() -> None:
        log = open_log("memory:")
        session = td.Session("s", log=log)
        async with Attached(session, socket=str(tmp_path / "none"), patient=True):
            await td.llm_call("one", model=ScriptedModel(["1"]), session=session)
        assert (session.transcript.turn, computed, log.latest(LIFECYCLE_TOPIC)) == (1, [], 0)

    play(scene)


def test_a_log_that_is_closed_ends_the_telling_and_nothing_else(tmp_path: Path) -> None:
    async def scene() -> None:
        log, socket = open_log("memory:"), place_in(tmp_path).socket
        session = td.Session("s", log=log)
        async with running(tmp_path), Attached(session, socket=socket):
            await td.llm_call("one", model=ScriptedModel(["1"]), session=session)
            await until_told(socket, "requests", 1)
            log.close()
            await ask(socket, "hub/remind", {"id": "r1", "body": "red", "to": {"session": "s"}})
            while not session.stored.mailbox.items:
                await ask(socket, "hub/status", {})

    play(scene)
