"""Both sides real, each in a process of its own: framing, eras, cancellation, teardown and listening again.

What one side does alone is in `emit` and `host`; this is what the conformance suite leaves out, over stdio.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.mcp.emit.raw import DEADLINE, LIMIT, ROOT, Frame, Raw, envelope
from tidings.agent.port import ToolCall
from tidings.agent.session import Session
from tidings.agent.tools.approval import Gate
from tidings.agent.tools.dispatch import Dispatcher
from tidings.agent.tools.receipt import Receipt
from tidings.agent.tools.rules import Rule
from tidings.agent.tools.tool import ToolContext
from tidings.core.records import LIFECYCLE_TOPIC
from tidings.log.memory import MemoryLog
from tidings.mcp import Backoff, Deadlines, Server, Servers
from tidings.mcp.names import EXTENSION, LEGACY, MODERN, SUBSCRIPTION_META

ERAS = pytest.mark.parametrize("era", ["legacy", "modern"])
PATIENT = Deadlines(connect=DEADLINE, probe=DEADLINE, request=DEADLINE, stop=DEADLINE)
AT_ONCE = Backoff(first=0.01, factor=1, longest=0.01, attempts=1_000)
ALLOW = Gate([Rule("allow", "*")])
ODD = str(Path(__file__).with_name("odd_server.py"))
T = TypeVar("T")


class Pair:
    """Our host and the server that it started."""

    def __init__(self, servers: Servers, log: MemoryLog) -> None:
        self.servers = servers
        self._log = log

    async def call(self, tool: str, context: ToolContext | None = None, **arguments: Any) -> Receipt:
        """Call a tool as the loop does."""
        dispatcher = Dispatcher(await self.servers.tools(), approval=ALLOW, deadline=DEADLINE)
        [receipt] = await dispatcher.dispatch([ToolCall("c1", f"pair__{tool}", arguments)], context)
        return receipt

    def waiting(self) -> list[tuple[str, str]]:
        """The bodies that wait in the mailbox, each with the trust that it has."""
        items = self.servers.session.stored.mailbox.items
        return [(item.what.body, item.what.trust) for item in items]  # type: ignore[union-attr]

    async def heard(self, body: str) -> None:
        """Wait until a reminder with this body is in the mailbox."""
        async with aclosing(self._log.subscribe(LIFECYCLE_TOPIC)) as records:
            async for _ in records:
                if body in [one for one, _ in self.waiting()]:
                    return

    async def warned(self, code: str) -> None:
        """Wait until a warning with this code is in the log."""
        async with aclosing(self._log.subscribe(LIFECYCLE_TOPIC)) as records:
            async for record in records:
                if record.payload.get("code") == code:
                    return


def host(scene: Callable[[Pair], Awaitable[T]], era: Any, ended: Path, profile: str = MODERN) -> T:
    """What a scene gives that is played with our host and our server."""
    command = (sys.executable, "-m", "tests.mcp.pair_server", str(ended), profile)
    server = Server(name="pair", command=command, cwd=str(ROOT), era=era)

    async def whole() -> T:
        log = MemoryLog()
        async with (
            asyncio.timeout(4 * DEADLINE),
            Servers(
                [server], session=Session("s1", log=log), deadlines=PATIENT, backoff=AT_ONCE
            ) as servers,
        ):
            return await scene(Pair(servers, log))

    return asyncio.run(whole())


@asynccontextmanager
async def server(ended: Path) -> AsyncIterator[tuple[Raw, asyncio.StreamWriter]]:
    """Our server and a raw client; what it writes is also at hand as bytes."""
    started = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.mcp.pair_server", str(ended)),
        cwd=ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=LIMIT,
    )
    assert started.stdin is not None
    assert started.stdout is not None
    client = Raw(started.stdout, started.stdin)
    try:
        yield client, started.stdin
    finally:
        client.close()
        try:
            async with asyncio.timeout(DEADLINE):
                await started.wait()
        except TimeoutError:
            started.kill()
            raise


def raw(script: Callable[[Raw, asyncio.StreamWriter], Awaitable[T]], ended: Path) -> T:
    """What a script gives that is played with a raw client and our server."""

    async def whole() -> T:
        async with asyncio.timeout(4 * DEADLINE), server(ended) as (client, writer):
            return await script(client, writer)

    return asyncio.run(whole())


async def open_era(client: Raw, era: str) -> None:
    """Begin to talk, and to hear reminders."""
    if era == "legacy":
        await client.handshake()
    else:
        await client.listen("ear", {EXTENSION: {}})


def request(era: str, id: int, method: str, **params: Any) -> Frame:
    meta = {"_meta": envelope()} if era == "modern" else {}
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": {**params, **meta}}


def bodies(frames: list[Frame]) -> list[str]:
    return [
        one["params"]["reminder"]["body"] for one in frames if one.get("method") == "notifications/reminder"
    ]


@ERAS
def test_a_reminder_passes_from_one_process_to_the_other(era: str, tmp_path: Path) -> None:
    async def scene(pair: Pair) -> tuple[str | None, bool, list[tuple[str, str]]]:
        assert (await pair.call("say", body="the build failed")).outcome.ok
        await pair.heard("the build failed")
        status = pair.servers["pair"]
        return status.era, status.reminders, pair.waiting()

    found = host(scene, era, tmp_path / "ended")
    assert found == (era, True, [("the build failed", "external")])


def test_an_unpinned_host_and_our_server_choose_the_modern_era(tmp_path: Path) -> None:
    async def scene(pair: Pair) -> tuple[str | None, str | None]:
        return pair.servers["pair"].era, pair.servers["pair"].version

    assert host(scene, "auto", tmp_path / "ended") == ("modern", MODERN)


@pytest.mark.parametrize(
    ("era", "profile"), [("legacy", MODERN), ("modern", MODERN), ("modern", "draft-2026-06")]
)
def test_a_server_that_was_stopped_is_started_and_heard_again(
    era: str, profile: str, tmp_path: Path
) -> None:
    ended = tmp_path / "ended"

    async def scene(pair: Pair) -> list[str]:
        await pair.call("say", body="before")
        await pair.heard("before")
        await pair.call("stop")
        await pair.warned("mcp_reconnected")
        await pair.call("say", body="after")
        await pair.heard("after")
        return [body for body, _ in pair.waiting()]

    assert host(scene, era, ended, profile) == ["before", "after"]
    assert ended.read_text() == "ended in order\n" * 2


@ERAS
def test_a_server_ends_in_order_when_its_host_takes_leave(era: str, tmp_path: Path) -> None:
    ended = tmp_path / "ended"

    async def scene(pair: Pair) -> str:
        await pair.call("say", body="hello")
        return ended.read_text() if ended.exists() else ""

    assert host(scene, era, ended) == ""
    assert ended.read_text() == "ended in order\n"


@ERAS
def test_a_call_that_the_host_gives_up_is_cancelled_in_the_servers_process(
    era: str, tmp_path: Path
) -> None:
    async def scene(pair: Pair) -> tuple[str, str]:
        context = ToolContext()
        calling = asyncio.create_task(pair.call("hang", context))
        await pair.heard("it began")
        context.cancel.set()
        receipt = await calling
        await pair.heard("it was cancelled")
        after = await pair.call("say", body="still here")
        return receipt.status, after.status

    assert host(scene, era, tmp_path / "ended") == ("cancelled", "finished")


@ERAS
def test_a_cancelled_call_ends_without_an_answer_and_the_others_go_on(era: str, tmp_path: Path) -> None:
    async def script(client: Raw, _: asyncio.StreamWriter) -> tuple[list[Frame], list[str]]:
        await open_era(client, era)
        await client.send(request(era, 7, "tools/call", name="hang", arguments={}))
        await client.until(method="notifications/reminder")
        await client.send({"method": "notifications/cancelled", "params": {"requestId": 7}})
        await client.until(method="notifications/reminder")
        await client.send(request(era, 8, "tools/list"))
        await client.until(id=8)
        return [frame for frame in client.seen if frame.get("id") == 7], bodies(client.seen)

    assert raw(script, tmp_path / "ended") == ([], ["it began", "it was cancelled"])


@ERAS
def test_messages_are_lines_however_they_are_cut_into_writes(era: str, tmp_path: Path) -> None:
    async def script(client: Raw, writer: asyncio.StreamWriter) -> set[int]:
        await open_era(client, era)
        first, *others = [json.dumps(request(era, number, "tools/list")).encode() for number in range(1, 6)]
        for piece in (first[:1], first[1:20], first[20:], b"\r\n", b"\n\r\n", b"\n".join(others) + b"\n"):
            writer.write(piece)
            await writer.drain()
        answers: set[int] = set()
        while len(answers) < 5:
            frame = await client.next()
            answers |= {frame["id"]} if "result" in frame else set()
        return answers

    assert raw(script, tmp_path / "ended") == {1, 2, 3, 4, 5}


@ERAS
def test_what_looks_like_a_line_break_stays_inside_its_message(era: str, tmp_path: Path) -> None:
    body = "one\ntwo\r\nthree\u2028four\u2029five\x85six \N{SMILE}"

    async def script(client: Raw, _: asyncio.StreamWriter) -> list[str]:
        await open_era(client, era)
        await client.send(request(era, 1, "tools/call", name="say", arguments={"body": body}))
        await client.until(method="notifications/reminder")
        return bodies(client.seen)

    assert raw(script, tmp_path / "ended") == [body]


@pytest.mark.parametrize(("era", "other"), [("legacy", "modern"), ("modern", "legacy")])
def test_the_first_request_settles_the_era_of_a_pipe_and_the_other_is_refused(
    era: str, other: str, tmp_path: Path
) -> None:
    hello = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}

    async def script(client: Raw, _: asyncio.StreamWriter) -> tuple[bool, bool]:
        await open_era(client, era)
        asked = (
            request(other, 1, "initialize", **hello)
            if other == "legacy"
            else request(other, 1, "tools/list")
        )
        await client.send(asked)
        refused = await client.until(id=1)
        await client.send(request(era, 2, "tools/list"))
        return "error" in refused, "result" in await client.until(id=2)

    assert raw(script, tmp_path / "ended") == (True, True)


@pytest.mark.parametrize("era", ["modern"])
def test_a_second_subscription_on_the_same_pipe_hears_on_after_the_first_was_cancelled(
    era: str, tmp_path: Path
) -> None:
    async def script(client: Raw, _: asyncio.StreamWriter) -> list[Any]:
        await client.listen(1, {EXTENSION: {}})
        await client.listen(2, {EXTENSION: {}})
        await client.send({"method": "notifications/cancelled", "params": {"requestId": 1}})
        await client.listen(3, {EXTENSION: {}})
        await client.send(request(era, 9, "tools/call", name="say", arguments={"body": "heard"}))
        told = [await client.until(method="notifications/reminder") for _ in range(2)]
        await client.send(request(era, 10, "tools/list"))
        await client.until(id=10)
        assert len(bodies(client.seen)) == 2
        return sorted(frame["params"]["_meta"][SUBSCRIPTION_META] for frame in told)

    assert raw(script, tmp_path / "ended") == [2, 3]


ERROR = '{{"jsonrpc": "2.0", "id": @, "error": {}}}'
RESULT = '{{"jsonrpc": "2.0", "id": @, "result": {}}}'
OLD_ONLY = '{"supportedVersions": ["2025-11-25"], "capabilities": {}, "ttlMs": 0, "cacheScope": "private"}'
ANSWERS = {
    "unknown method": ERROR.format('{"code": -32601, "message": "no such method"}'),
    "initialize first": ERROR.format('{"code": -32602, "message": "initialize first"}'),
    "a code of its own": ERROR.format('{"code": 17, "message": "what?"}'),
    "another version": ERROR.format(
        '{"code": -32022, "message": "no", "data": {"supported": ["2025-11-25"], "requested": "x"}}'
    ),
    "no session": ERROR.format('{"code": -32000, "message": "Bad Request: No valid session ID"}'),
    "an empty result": RESULT.format("{}"),
    "a result of another kind": RESULT.format('{"tools": []}'),
    "only old versions": RESULT.format(OLD_ONLY),
}
SILENCE = {
    "nothing": "",
    "words": "Server ready.",
    "half a message": '{"jsonrpc": "2.0", "id": @, "result": ',
    "a number": RESULT.format("42"),
    "another id": '{"jsonrpc": "2.0", "id": "nobody", "result": {}}',
}


def probed(*answers: str, probe: float = DEADLINE) -> tuple[str, str | None]:
    """State and era after our host has asked a legacy server with odd manners."""
    server = Server(name="odd", command=(sys.executable, ODD, *answers))
    deadlines = Deadlines(connect=DEADLINE, probe=probe, request=DEADLINE, stop=DEADLINE)

    async def whole() -> tuple[str, str | None]:
        async with (
            asyncio.timeout(4 * DEADLINE),
            Servers([server], session=Session("s1"), deadlines=deadlines, backoff=AT_ONCE) as servers,
        ):
            return servers["odd"].state, servers["odd"].era

    return asyncio.run(whole())


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_whatever_an_old_server_answers_to_the_modern_question_it_is_asked_the_old_way(answer: str) -> None:
    assert probed(answer) == ("connected", "legacy")


@pytest.mark.parametrize("answer", SILENCE.values(), ids=SILENCE)
def test_an_old_server_that_says_nothing_of_use_is_asked_the_old_way_after_a_while(answer: str) -> None:
    assert probed(answer, probe=0.2) == ("connected", "legacy")


def test_a_server_that_refuses_and_names_our_version_is_asked_once_more() -> None:
    refusal = ERROR.format(
        '{"code": -32022, "message": "no", "data": {"supported": ["2026-07-28"], "requested": "x"}}'
    )
    assert probed(refusal, RESULT.format(OLD_ONLY.replace(LEGACY, MODERN))) == ("connected", "modern")
