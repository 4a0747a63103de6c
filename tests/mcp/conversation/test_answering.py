"""A server of the SDK answers our client: both forms, both eras, over pipes and over HTTP."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp.server.lowlevel import Server as SdkServer
from mcp.shared.exceptions import MCPError

from tests.mcp.conversation.asked import Stage, play, words
from tests.mcp.conversation.server import memory
from tidings.agent.session import Session
from tidings.errors import CallerError
from tidings.mcp import reminders_of, serving
from tidings.mcp.config import Era, Server
from tidings.mcp.conversation.answering import (
    MOST_AT_ONCE,
    ConversationServer,
    Memory,
    UserMessage,
    read_message,
    to_result,
)
from tidings.mcp.conversation.consent import Grant, target_of
from tidings.mcp.conversation.errand import Result
from tidings.mcp.conversation.hosted import peers_of
from tidings.mcp.conversation.wire import Item, Turn
from tidings.mcp.host.servers import Servers
from tidings.mcp.host.settings import Deadlines

ROOT = Path(__file__).parents[3]
QUICK = Deadlines(connect=50, probe=30, request=50, stop=10)
FOUND = Item("The schema has 12 tables.", 0.9, "notes.md")


@asynccontextmanager
async def asked(where: str, form: str, era: Era, folder: Path) -> AsyncIterator[Stage]:
    """An asker that is connected to a memory, which writes to the file `seen`, and has every consent."""
    if where == "stdio":
        command = (sys.executable, "-m", "tests.mcp.conversation.server", form, str(folder / "seen"))
        async with connected(
            Server(name="memory", command=command, cwd=str(ROOT), era=era), folder
        ) as stage:
            yield stage
        return
    running = memory(form, folder / "seen")
    async with (
        serving(running, deadline=2) as url,
        connected(Server(name="memory", url=url, era=era), folder) as stage,
    ):
        reminders = reminders_of(running)
        assert reminders is not None
        await stage.until(lambda: era == "modern" or bool(reminders.delivery._listening))
        yield stage


@asynccontextmanager
async def connected(server: Server, folder: Path) -> AsyncIterator[Stage]:
    """An asker that is connected to `server` and has every consent."""
    stage = Stage(folder)
    scopes = ("message", "history", "assistant")
    stage.consents.grant(Grant(server=server.name, target=target_of(server), scopes=scopes))
    session = Session("s1")
    async with Servers([server], session=session, deadlines=QUICK, on_push=stage.asker.heard) as servers:
        assert servers[server.name].state == "connected", servers[server.name]
        stage.asker.peers = peers_of(servers)
        yield stage


def seen_by(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


async def until_seen(path: Path, count: int) -> list[dict[str, Any]]:
    while len(seen_by(path)) < count:  # noqa: ASYNC110  # the deadline of the scene bounds it
        await asyncio.sleep(0)
    return seen_by(path)


WAYS = [
    ("stdio", "proper", "legacy"),
    ("stdio", "proper", "modern"),
    ("stdio", "literal", "legacy"),
    ("stdio", "literal", "modern"),
    ("http", "proper", "legacy"),
    ("http", "proper", "modern"),
    ("http", "literal", "legacy"),
]


@pytest.mark.parametrize(("where", "form", "era"), WAYS)
def test_a_message_is_answered_with_context(tmp_path: Path, where: str, form: str, era: Era) -> None:
    async def scene() -> None:
        seen = tmp_path / "seen"
        async with asked(where, form, era, tmp_path) as stage:
            history = (Turn("user", "hello"),)
            results = await stage.asker.ask(words(history=history))
            assert results == [Result(server="memory", kind="answered", items=(FOUND,))]
            nothing = await stage.asker.ask(words("how are you?", "m2"))
            assert nothing == [Result(server="memory", kind="answered")]
            told = [one["UserMessage"] for one in seen_by(seen)]
            assert [one["content"] for one in told] == ["which schema?", "how are you?"]
            assert told[0]["history"] == [{"role": "user", "content": "hello"}]
            assert (told[0]["conversation"] is None) == (form == "literal")
            assert [one["form"] for one in stage.entries()] == [
                "request" if form == "proper" else "notification"
            ] * 2

    play(scene)


@pytest.mark.parametrize(("where", "era"), [("stdio", "legacy"), ("stdio", "modern"), ("http", "legacy")])
def test_the_answer_of_the_assistant_reaches_the_server(tmp_path: Path, where: str, era: Era) -> None:
    async def scene() -> None:
        seen = tmp_path / "seen"
        async with asked(where, "proper", era, tmp_path) as stage:
            results = await stage.asker.tell(words("It has 12 tables."))
            assert results == [Result(server="memory", kind="sent")]
            [told] = await until_seen(seen, 1)
            assert told["AssistantResponse"]["content"] == "It has 12 tables."

    play(scene)


def test_over_modern_http_the_literal_form_and_the_assistants_answer_are_not_sent(tmp_path: Path) -> None:
    async def scene() -> None:
        seen = tmp_path / "seen"
        async with asked("http", "literal", "modern", tmp_path) as stage:
            assert await stage.asker.ask(words()) == [Result(server="memory", kind="no_channel")]
            assert await stage.asker.tell(words()) == [Result(server="memory", kind="no_channel")]
            assert (stage.entries(), seen_by(seen)) == ([], [])

    play(scene)


def handled(
    handler: Any, params: Any, *, deadline: float = 600.0, times: int = 1
) -> tuple[Any, dict[str, int]]:
    """What a handler makes of the request's params, `times` at once, and what was counted."""

    async def scene() -> tuple[Any, dict[str, int]]:
        server: SdkServer[Any] = SdkServer("m")
        conversation = ConversationServer(server, deadline=deadline)
        conversation.on_user_message(handler)
        entry = server.get_request_handler("conversation/userMessage")
        assert entry is not None
        ctx: Any = type("Ctx", (), {"params": params})
        results = await asyncio.gather(*(entry.handler(ctx, None) for _ in range(times)))  # type: ignore[arg-type]
        return results[-1], dict(conversation.counts)

    return play(scene)


PARAMS = {"messageId": "m1", "content": "hello"}


@pytest.mark.parametrize(
    ("given", "result"),
    [
        (None, {}),
        ("", {}),
        ([], {}),
        ("a text", {"context": "a text"}),
        (["a", Memory("b", 0.5)], {"structuredContext": {"memories": [
            {"content": "a", "relevance": 1.0}, {"content": "b", "relevance": 0.5},
        ]}}),
    ],
)  # fmt: skip
def test_a_handler_gives_a_text_memories_or_nothing(given: Any, result: Any) -> None:
    assert handled(lambda message: given, PARAMS) == (result, {"handled": 1})


def test_a_handler_that_is_no_coroutine_does_not_hold_up_the_server() -> None:
    threads: list[str] = []

    def handler(message: UserMessage) -> str:
        threads.append(threading.current_thread().name)
        return message.content

    assert handled(handler, PARAMS)[0] == {"context": "hello"}
    assert threads != [threading.main_thread().name]


def test_a_handler_that_is_late_answers_nothing() -> None:
    async def handler(message: UserMessage) -> str:
        await asyncio.Event().wait()
        raise AssertionError

    assert handled(handler, PARAMS, deadline=0.01) == ({}, {"late": 1})
    in_a_hurry = {**PARAMS, "budget": {"deadlineMs": 10}}
    assert handled(handler, in_a_hurry) == ({}, {"late": 1})


@pytest.mark.parametrize("given", [5, {"context": "x"}, [1], b"bytes"])
def test_a_handler_that_fails_or_gives_nonsense_is_an_error_without_its_details(given: Any) -> None:
    def failing(message: UserMessage) -> str:
        raise ValueError("the password is hunter2")

    with pytest.raises(MCPError, match="the handler of this server failed; its log says why") as caught:
        handled(failing, PARAMS)
    assert caught.value.code == -32603
    with pytest.raises(MCPError, match="a handler gives a text, a list of Memory or text, or None"):
        handled(lambda message: given, PARAMS)


def test_more_messages_at_once_than_are_handled_are_answered_with_nothing() -> None:
    async def handler(message: UserMessage) -> str:
        await asyncio.sleep(0)
        return "a"

    last, counts = handled(handler, PARAMS, times=MOST_AT_ONCE + 3)
    assert (last, counts) == ({}, {"busy": 3, "handled": MOST_AT_ONCE})


@pytest.mark.parametrize(
    ("params", "said"),
    [
        (None, "`messageId` must be a string; got None"),
        ({"messageId": 5, "content": "x"}, "`messageId` must be a string; got 5"),
        ({"messageId": "m"}, "`content` must be a string; got None"),
        ({**PARAMS, "recentHistory": "all"}, "`recentHistory` must be a list; got 'all'"),
        ({**PARAMS, "alreadyInContext": [1]}, "`alreadyInContext` must be a list of strings"),
        ({**PARAMS, "alreadyInContext": "i1"}, "`alreadyInContext` must be a list of strings; got 'i1'"),
        ({**PARAMS, "recentHistory": ["x"]}, "`recentHistory` must hold objects; got 'x'"),
        ({**PARAMS, "recentHistory": [{"role": "user"}]}, "`content` must be a string; got None"),
    ],
)
def test_params_that_are_wrong_are_refused_with_their_field(params: Any, said: str) -> None:
    with pytest.raises(MCPError, match=said) as caught:
        read_message(params)
    assert caught.value.code == -32602


def test_a_message_says_what_the_client_has_room_for() -> None:
    params = {**PARAMS, "conversationId": "c", "budget": {"maxItems": 3, "maxBytes": 100, "deadlineMs": 9}}
    assert read_message(params) == UserMessage(
        id="m1", content="hello", conversation="c", most_items=3, most_bytes=100
    )


def test_a_message_says_where_it_is_from_and_what_the_model_has_before_it() -> None:
    params = {**PARAMS, "scope": {"project": "shop", "cwd": 7}, "alreadyInContext": ["i1", "i2"]}
    expected = UserMessage(id="m1", content="hello", project="shop", already=("i1", "i2"))
    assert read_message(params) == expected
    assert read_message({**PARAMS, "scope": "shop"}) == UserMessage(id="m1", content="hello")
    assert len(read_message({**PARAMS, "alreadyInContext": ["i"] * 10_000}).already) == 200


def test_a_memory_carries_its_date_and_id() -> None:
    assert to_result([Memory("a", 0.5, "notes", "2026-03-01", "i1")]) == {
        "structuredContext": {
            "memories": [
                {"content": "a", "relevance": 0.5, "source": "notes", "date": "2026-03-01", "id": "i1"}
            ]
        }
    }


def test_what_no_client_would_look_at_is_not_sent() -> None:
    memories = to_result([Memory("x" * 100_000)] * 1_000)["structuredContext"]["memories"]  # type: ignore[index]
    assert (len(memories), len(memories[0]["content"])) == (64, 8192)


def test_only_a_server_of_the_sdk_can_answer() -> None:
    with pytest.raises(CallerError, match="no server of the MCP SDK"):
        ConversationServer(object())  # type: ignore[arg-type]
