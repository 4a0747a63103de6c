"""Asking about a message: consent, one deadline, the breaker, the ledger, and both forms."""

from __future__ import annotations

import asyncio
import threading
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest

from tests.mcp.conversation.asked import PROJECT, Scripted, Stage, play, stall, words
from tidings.core.reminder import Payload
from tidings.errors import LogUnavailableError
from tidings.log.memory import MemoryLog
from tidings.mcp.conversation import asking
from tidings.mcp.conversation.breaker import Breaker, Patience
from tidings.mcp.conversation.consent import Grant, pairwise
from tidings.mcp.conversation.errand import Result, Settings
from tidings.mcp.conversation.wire import Item, Offer, Room, Turn

HISTORY = (Turn("user", "hello"), Turn("assistant", "hi"))
LITERAL = Offer(form="notification")


def test_without_consent_nothing_is_sent_and_it_is_said_why(tmp_path: Path) -> None:
    async def scene() -> None:
        memory = Scripted("memory", {"context": "x"})
        stage = Stage(tmp_path, memory)
        assert await stage.asker.ask(words()) == [Result(server="memory", kind="no_consent")]
        stage.grant(memory, project="/srv/other")
        assert await stage.asker.ask(words()) == [Result(server="memory", kind="no_consent")]
        stage.consents.grant(Grant(server="memory", target="another program"))
        assert await stage.asker.ask(words()) == [Result(server="memory", kind="changed")]
        stage.grant(memory, scopes=("assistant",))
        assert await stage.asker.ask(words()) == [Result(server="memory", kind="no_consent")]
        assert (memory.sent, stage.entries()) == ([], [])

    play(scene)


def test_a_server_that_offers_nothing_is_never_asked_even_with_consent(tmp_path: Path) -> None:
    async def scene() -> None:
        silent = Scripted("silent", {}, Offer(user_message=False))
        stage = Stage(tmp_path, silent)
        stage.grant(silent)
        assert await stage.asker.ask(words()) == []
        assert silent.sent == []

    play(scene)


def test_the_message_alone_is_sent_and_the_ledger_has_its_measure(tmp_path: Path) -> None:
    async def scene() -> None:
        memory = Scripted("memory", {"context": "12 tables"}, Offer(history=True))
        stage = Stage(tmp_path, memory)
        stage.grant(memory, scopes=("message", "assistant"))
        results = await stage.asker.ask(words(history=HISTORY))
        assert results == [Result(server="memory", kind="answered", items=(Item("12 tables"),))]
        key = stage.consents.read().key
        params: Payload = {
            "messageId": pairwise(key, memory.target, "message m1"),
            "content": "which schema?",
            "conversationId": pairwise(key, memory.target, "conversation s1"),
            "budget": {"maxItems": 5, "maxBytes": 6144, "deadlineMs": 500},
        }
        assert memory.sent == [("conversation/userMessage", params)]
        data = msgspec.json.encode(params, order="sorted")
        assert stage.entries() == [
            {
                "server": "memory",
                "target": memory.target,
                "event": "conversation/userMessage",
                "form": "request",
                "scopes": ["message"],
                "project": PROJECT,
                "session_id": "s1",
                "conversation_id": params["conversationId"],
                "message_id": params["messageId"],
                "history": 0,
                "bytes": len(data),
                "sha256": sha256(data).hexdigest(),
            }
        ]

    play(scene)


def test_history_goes_only_to_who_was_granted_it_and_asks_for_it(tmp_path: Path) -> None:
    async def scene() -> None:
        granted, modest, curious = (
            Scripted("granted", {}, Offer(history=True)),
            Scripted("modest", {}),
            Scripted("curious", {}, Offer(history=True)),
        )
        stage = Stage(tmp_path, granted, modest, curious, settings=Settings(history_messages=1))
        stage.grant(granted, modest, scopes=("message", "history"))
        stage.grant(curious)
        await stage.asker.ask(words(history=HISTORY))
        told = [peer.sent[0][1].get("recentHistory") for peer in (granted, modest, curious)]
        assert told == [[{"role": "assistant", "content": "hi"}], None, None]
        assert [(one["scopes"], one["history"]) for one in stage.entries()] == [
            (["message", "history"], 1),
            (["message"], 0),
            (["message"], 0),
        ]

    play(scene)


def test_two_servers_cannot_compare_their_ids(tmp_path: Path) -> None:
    async def scene() -> None:
        one, two = Scripted("one", {}), Scripted("two", {})
        stage = Stage(tmp_path, one, two)
        stage.grant(one, two)
        await stage.asker.ask(words())
        await stage.asker.ask(words(message="m2"))
        seen = [
            [(sent["messageId"], sent["conversationId"]) for _, sent in peer.sent] for peer in (one, two)
        ]
        flat = {name for pairs in seen for pair in pairs for name in pair}
        assert len(flat) == 6
        assert seen[0][0][1] == seen[0][1][1]
        assert not {"m1", "m2", "s1"} & flat

    play(scene)


MARK = "[redacted token]"


def test_secrets_never_leave_also_not_in_the_history_or_cut_in_two(tmp_path: Path) -> None:
    async def scene() -> None:
        token = "ghp_" + "a1B2" * 9
        memory = Scripted("memory", {}, Offer(history=True, assistant_response=True))
        stage = Stage(tmp_path, memory, settings=Settings(message_bytes=40))
        stage.grant(memory, scopes=("message", "history", "assistant"))
        await stage.asker.ask(words(f"use {token}", history=(Turn("user", token),)))
        await stage.asker.ask(words("x" * 30 + f" {token}"))
        await stage.asker.tell(words(f"I used {token}"))
        sent = [params for _, params in memory.sent]
        assert [sent[0]["content"], sent[2]["content"]] == [f"use {MARK}", f"I used {MARK}"]
        assert sent[0]["recentHistory"] == [{"role": "user", "content": MARK}]
        assert "ghp_" not in str(sent[1])

    play(scene)


def test_a_secret_at_the_end_of_what_is_read_does_not_leave_in_half(tmp_path: Path) -> None:
    async def scene() -> None:
        memory = Scripted("memory", {})
        stage = Stage(tmp_path, memory)
        stage.grant(memory)
        lines = ("A1b2C3d4" * 8 + "\n") * 250
        key = f"-----BEGIN PRIVATE KEY-----\n{lines}-----END PRIVATE KEY-----\n"
        token = "ghp_" + "a1B2" * 9
        longest = stage.asker.settings.message_bytes + asking._SLACK
        for before in (f"{key}{key}", f"{key}x ", key + "word " * 2_000):
            for cut in (8, 20, 30):
                filler = "y " * ((longest - cut - len(before)) // 2)
                text = f"{before}{filler}"
                content = text + " " * (longest - cut - len(text)) + f"{token} and more " * 9
                await stage.asker.ask(words(content, message=f"{len(before)} {cut}"))
        assert len(memory.sent) == 9
        assert "ghp_" not in str(memory.sent)

    play(scene)


def test_one_deadline_for_all_and_who_hangs_is_late(tmp_path: Path) -> None:
    async def scene() -> None:
        good = [Scripted(f"good{number}", {"context": f"text {number}"}) for number in range(5)]
        hung = [Scripted(f"hung{number}", stall) for number in range(3)]
        peers = [hung[0], *good, *hung[1:]]
        stage = Stage(tmp_path, *peers)
        stage.grant(*peers)
        asking = asyncio.create_task(stage.asker.ask(words()))
        await stage.until(lambda: all(peer.sent for peer in peers))
        for _ in range(20):
            await asyncio.sleep(0)
        assert not asking.done()
        stage.clock.ring()
        results = await asking
        assert [(one.server, one.kind) for one in results] == [
            ("hung0", "late"),
            *((f"good{number}", "answered") for number in range(5)),
            ("hung1", "late"),
            ("hung2", "late"),
        ]
        assert stage.clock.slept == [0.5]
        await stage.until(lambda: all(peer.cancelled for peer in hung))

    play(scene)


def test_when_all_have_answered_nobody_waits_for_the_deadline(tmp_path: Path) -> None:
    async def scene() -> None:
        memory = Scripted("memory", {})
        stage = Stage(tmp_path, memory)
        stage.grant(memory)
        assert await stage.asker.ask(words()) == [Result(server="memory", kind="answered")]

    play(scene)


def test_answers_come_in_the_order_of_priority_then_of_the_config(tmp_path: Path) -> None:
    async def scene() -> None:
        peers = [Scripted(name, {"context": name}) for name in ("a", "b", "c")]
        stage = Stage(tmp_path, *peers)
        stage.grant(peers[0], peers[1])
        stage.grant(peers[2], priority=5)
        assert [one.server for one in await stage.asker.ask(words())] == ["c", "a", "b"]

    play(scene)


def test_a_revocation_in_flight_cancels_the_request_and_its_answer_is_not_used(tmp_path: Path) -> None:
    async def scene() -> None:
        memory, docs = Scripted("memory", stall), Scripted("docs", stall)
        stage = Stage(tmp_path, memory, docs)
        stage.grant(memory, docs)
        asking = asyncio.create_task(stage.asker.ask(words()))
        await stage.until(lambda: bool(memory.sent and docs.sent))
        stage.consents.revoke("memory")
        await stage.until(lambda: memory.cancelled)
        assert not docs.cancelled
        stage.clock.ring()
        results = await asking
        assert [(one.server, one.kind) for one in results] == [("memory", "revoked"), ("docs", "late")]
        assert stage.asker.breaker("memory") == Breaker()

    play(scene)


def test_a_revocation_by_another_process_counts_when_the_answer_comes(tmp_path: Path) -> None:
    async def scene() -> None:
        stage = Stage(tmp_path)

        async def answer(_params: Payload) -> object:
            Stage(tmp_path).consents.revoke("memory")
            return {"context": "too late"}

        memory = Scripted("memory", answer)
        stage.asker.peers = [memory]
        stage.grant(memory)
        assert await stage.asker.ask(words()) == [Result(server="memory", kind="revoked")]

    play(scene)


class RevokingLog(MemoryLog):
    """A ledger during whose writing the user thinks better of it."""

    def __init__(self, stage: Stage) -> None:
        super().__init__()
        self._stage = stage

    def append_batch(self, drafts: object) -> tuple[()]:
        self._stage.consents.revoke("memory")
        return ()


def test_a_revocation_just_before_the_words_leave_keeps_them_here(tmp_path: Path) -> None:
    async def scene() -> None:
        memory, docs = Scripted("memory", {}), Scripted("docs", {})
        stage = Stage(tmp_path, memory, docs)
        stage.grant(memory, docs)
        stage.asker._ledger = RevokingLog(stage)
        results = await stage.asker.ask(words())
        assert [(one.server, one.kind) for one in results] == [("memory", "revoked"), ("docs", "answered")]
        assert (memory.sent, len(docs.sent)) == ([], 1)

    play(scene)


def test_a_narrowed_grant_counts_as_revoked_for_what_was_sent_under_the_wider_one(tmp_path: Path) -> None:
    async def scene() -> None:
        stage = Stage(tmp_path)

        async def answer(_params: Payload) -> object:
            stage.grant(memory)
            return {"context": "from your history"}

        memory = Scripted("memory", answer, Offer(history=True))
        stage.asker.peers = [memory]
        stage.grant(memory, scopes=("message", "history"))
        results = await stage.asker.ask(words(history=HISTORY))
        assert results == [Result(server="memory", kind="revoked")]

    play(scene)


class BrokenLog(MemoryLog):
    """A ledger on a disk that is full."""

    def append_batch(self, drafts: object) -> tuple[()]:
        raise LogUnavailableError("the disk is full")


def test_what_cannot_be_written_down_is_not_sent(tmp_path: Path) -> None:
    async def scene() -> None:
        memory = Scripted("memory", {})
        stage = Stage(tmp_path, memory)
        stage.grant(memory)
        stage.asker._ledger = BrokenLog()
        results = await stage.asker.ask(words())
        assert results == [Result(server="memory", kind="unrecorded", reason="the disk is full")]
        assert memory.sent == []

    play(scene)


class SlowLog(MemoryLog):
    """A ledger that another process keeps locked."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.free = threading.Event(), threading.Event()

    def append_batch(self, drafts: object) -> tuple[()]:
        self.begun.set()
        assert self.free.wait(60)
        return ()


def test_a_ledger_that_is_slow_costs_the_deadline_and_nothing_is_sent(tmp_path: Path) -> None:
    async def scene() -> None:
        memory, log = Scripted("memory", {}), SlowLog()
        stage = Stage(tmp_path, memory)
        stage.grant(memory)
        stage.asker._ledger = log
        asking = asyncio.create_task(stage.asker.ask(words()))
        await stage.until(log.begun.is_set)
        stage.clock.ring()
        reason = "the ledger was not written in time"
        assert await asking == [Result(server="memory", kind="unrecorded", reason=reason)]
        stage.clock.wind()
        log.begun.clear()
        again = await stage.asker.ask(words(message="m2"))
        assert [(one.kind, one.reason) for one in again] == [
            ("unrecorded", "the ledger still writes what was to be sent before")
        ]
        assert not log.begun.is_set()
        log.free.set()
        assert memory.sent == []

    play(scene)


def test_messages_that_are_asked_about_at_once_share_the_ledger(tmp_path: Path) -> None:
    async def scene() -> None:
        memory = Scripted("memory", {})
        stage = Stage(tmp_path, memory)
        stage.grant(memory)
        asked = (stage.asker.ask(words(message=f"m{number}")) for number in range(8))
        assert [one.kind for results in await asyncio.gather(*asked) for one in results] == ["answered"] * 8

    play(scene)


def test_damaged_consents_mean_that_nobody_is_asked(tmp_path: Path) -> None:
    async def scene() -> None:
        memory = Scripted("memory", {})
        stage = Stage(tmp_path, memory)
        stage.grant(memory)
        stage.consents.path.write_text("{}x")
        [result] = await stage.asker.ask(words())
        assert (result.kind, memory.sent) == ("no_consent", [])
        assert "cannot be read" in result.reason

    play(scene)


def test_three_timeouts_open_the_breaker_and_one_try_after_the_pause_closes_it(tmp_path: Path) -> None:
    async def scene() -> None:
        memory = Scripted("memory", stall)
        stage = Stage(tmp_path, memory, settings=Settings(patience=Patience(first=30)))
        stage.grant(memory)

        async def kinds() -> list[str]:
            return [one.kind for one in await stage.asker.ask(words())]

        async def lates() -> list[str]:
            results = await stage.late(memory)
            await stage.until(lambda: not stage.asker._fading)
            return [one.kind for one in results]

        for _ in range(3):
            assert await lates() == ["late"]
        assert (await kinds(), len(memory.sent)) == (["breaker_open"], 3)
        stage.clock.time = 30
        assert (await lates(), len(memory.sent)) == (["late"], 4)
        stage.clock.time = 89
        assert (await kinds(), len(memory.sent)) == (["breaker_open"], 4)
        stage.clock.time = 90
        memory.answer = {"context": "back again"}
        assert (await kinds(), len(memory.sent)) == (["answered"], 5)
        assert stage.asker.breaker("memory") == Breaker()
        assert dict(stage.asker.counts["memory"]) == {"late": 4, "breaker_open": 2, "answered": 1}

    play(scene)


def test_a_server_that_fails_costs_itself_and_does_not_open_the_breaker(tmp_path: Path) -> None:
    async def scene() -> None:
        async def fail(_params: Payload) -> object:
            raise ConnectionError("gone")

        memory, docs = Scripted("memory", fail), Scripted("docs", {"context": "a"})
        stage = Stage(tmp_path, memory, docs)
        stage.grant(memory, docs)
        for _ in range(4):
            results = await stage.asker.ask(words())
        assert results == [
            Result(server="memory", kind="failed", reason="ConnectionError: gone"),
            Result(server="docs", kind="answered", items=(Item("a"),)),
        ]

    play(scene)


def test_a_server_that_does_not_let_go_is_busy_and_holds_nobody_up(tmp_path: Path) -> None:
    async def scene() -> None:
        let_go = asyncio.Event()

        async def cling(_params: Payload) -> object:
            try:
                await asyncio.Event().wait()
            finally:
                await let_go.wait()

        memory = Scripted("memory", cling)
        stage = Stage(tmp_path, memory)
        stage.grant(memory)
        assert [one.kind for one in await stage.late(memory)] == ["late"]
        assert [one.kind for one in await stage.asker.ask(words())] == ["busy"]
        let_go.set()
        await stage.until(lambda: not stage.asker._fading)
        assert len(memory.sent) == 1

    play(scene)


def test_the_literal_form_is_a_notification_answered_by_its_message_id(tmp_path: Path) -> None:
    async def scene() -> None:
        memory = Scripted("memory", None, LITERAL)
        stage = Stage(tmp_path, memory)
        stage.grant(memory, scopes=("message", "history"))
        asking = asyncio.create_task(stage.asker.ask(words(history=HISTORY)))
        await stage.until(lambda: bool(memory.sent))
        [(method, params)] = memory.sent
        assert (method, sorted(params)) == (
            "conversation/userMessage",
            ["content", "messageId", "recentHistory"],
        )
        for wrong in ({"messageId": "m1", "context": "no"}, {"messageId": 5, "context": "no"}):
            stage.asker.heard("memory", "conversation/context", wrong)
        stage.asker.heard("docs", "conversation/context", {**params, "context": "of another"})
        stage.asker.heard("memory", "notifications/message", {**params, "context": "of another kind"})
        stage.asker.heard(
            "memory", "conversation/context", {"messageId": params["messageId"], "context": "12 tables"}
        )
        assert await asking == [Result(server="memory", kind="answered", items=(Item("12 tables"),))]
        assert dict(stage.asker.counts["memory"]) == {"stray_answers": 2, "answered": 1}
        assert dict(stage.asker.counts["docs"]) == {"stray_answers": 1}

    play(scene)


@pytest.mark.parametrize("with_id", [True, False])
def test_a_late_answer_is_never_taken_for_that_of_the_next_message(tmp_path: Path, with_id: bool) -> None:
    async def scene() -> None:
        memory = Scripted("memory", None, LITERAL)
        stage = Stage(tmp_path, memory)
        stage.grant(memory)

        def answer(number: int, text: str) -> None:
            named = {"messageId": memory.sent[number][1]["messageId"]} if with_id else {}
            stage.asker.heard("memory", "conversation/context", {**named, "context": text})

        assert [one.kind for one in await stage.late(memory)] == ["late"]
        await stage.until(lambda: not stage.asker._fading)
        asking = asyncio.create_task(stage.asker.ask(words(message="m2")))
        await stage.until(lambda: len(memory.sent) == 2)
        answer(0, "about the first")
        answer(1, "about the second")
        assert await asking == [Result(server="memory", kind="answered", items=(Item("about the second"),))]
        assert dict(stage.asker.counts["memory"]) == {"late": 1, "late_answers": 1, "answered": 1}

    play(scene)


def test_a_connection_without_notifications_gets_neither_the_literal_form_nor_answers(
    tmp_path: Path,
) -> None:
    async def scene() -> None:
        literal = Scripted("literal", None, LITERAL)
        proper = Scripted("proper", {}, Offer(assistant_response=True))
        literal.notifies = proper.notifies = False
        stage = Stage(tmp_path, literal, proper)
        stage.grant(literal, proper, scopes=("message", "assistant"))
        asked = [(one.server, one.kind) for one in await stage.asker.ask(words())]
        assert asked == [("literal", "no_channel"), ("proper", "answered")]
        assert [(one.server, one.kind) for one in await stage.asker.tell(words("done"))] == [
            ("proper", "no_channel")
        ]
        assert (literal.sent, len(proper.sent), len(stage.entries())) == ([], 1, 1)

    play(scene)


def test_the_assistants_answer_needs_a_consent_of_its_own(tmp_path: Path) -> None:
    async def scene() -> None:
        hears = Offer(assistant_response=True)
        granted, asked_only, deaf = (
            Scripted("granted", None, hears),
            Scripted("asked", None, hears),
            Scripted("deaf"),
        )
        stage = Stage(tmp_path, granted, asked_only, deaf)
        stage.grant(granted, deaf, scopes=("message", "assistant"))
        stage.grant(asked_only)
        results = await stage.asker.tell(words("It has 12 tables."))
        assert results == [
            Result(server="granted", kind="sent"),
            Result(server="asked", kind="no_consent"),
        ]
        [(method, params)] = granted.sent
        assert (method, params["content"]) == ("conversation/assistantResponse", "It has 12 tables.")
        assert (asked_only.sent, deaf.sent) == ([], [])
        assert [(one["event"], one["scopes"]) for one in stage.entries()] == [(method, ["assistant"])]

    play(scene)


def test_a_message_is_cut_and_the_room_is_told(tmp_path: Path) -> None:
    async def scene() -> None:
        memory = Scripted("memory", {})
        stage = Stage(tmp_path, memory, settings=Settings(message_bytes=100, room=Room(bytes=10, items=1)))
        stage.grant(memory)
        await stage.asker.ask(words("x" * 5_000_000))
        [(_, params)] = memory.sent
        assert len(str(params["content"])) <= 100
        assert params["budget"] == {"maxItems": 1, "maxBytes": 10, "deadlineMs": 500}

    play(scene)


def test_cancelling_the_one_who_asks_cancels_the_requests(tmp_path: Path) -> None:
    async def scene() -> None:
        memory = Scripted("memory", stall)
        stage = Stage(tmp_path, memory)
        stage.grant(memory)
        asking = asyncio.create_task(stage.asker.ask(words()))
        await stage.until(lambda: bool(memory.sent))
        asking.cancel()
        await asyncio.wait({asking})
        await stage.until(lambda: memory.cancelled)

    play(scene)
