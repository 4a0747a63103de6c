"""What becomes of one pushed message: accepted, lowered, or dropped and written down. No wire."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tidings.agent.session import Session
from tidings.core.mailbox import CAPACITY as MAILBOX
from tidings.core.records import LIFECYCLE_TOPIC
from tidings.log.memory import MemoryLog
from tidings.mcp import Budget, Rule, Server
from tidings.mcp.advertisement import Advertised
from tidings.mcp.budget import LARGEST_FRAME
from tidings.mcp.host.intake import CAPACITY, Intake

REMINDER = "notifications/reminder"
CONTEXT = ("session_id", "task_id", "agent_id")


class Desk:
    """One session with a log, and the intakes of its servers, at a moment that stands still."""

    def __init__(self, **options: Any) -> None:
        self.log = MemoryLog()
        self.session = Session("s1", log=self.log)
        self.time = 0.0
        self.intake = self.of("ci", **options)

    def of(self, name: str, **options: Any) -> Intake:
        intake = Intake(Server(name=name, command=("x",), **options), self.session, lambda: self.time)
        intake.open(Advertised())
        return intake

    def hear(self, body: str, intake: Intake | None = None, meta: Any = None, **fields: Any) -> None:
        params: dict[str, Any] = {"reminder": {"body": body, **fields}}
        if meta is not None:
            params["_meta"] = meta
        chosen = self.intake if intake is None else intake
        chosen.hear(REMINDER, params, 100)

    def take(self, intake: Intake | None = None) -> None:
        """Let the intake's task look at all that waits."""

        chosen = self.intake if intake is None else intake

        async def run() -> None:
            task = asyncio.create_task(chosen.run())
            async with asyncio.timeout(30):
                while len(chosen):  # noqa: ASYNC110 the task beside us takes one each time
                    await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait({task})

        asyncio.run(run())

    def tick(self) -> None:
        """Let the intake's task run for a moment."""

        async def run() -> None:
            task = asyncio.create_task(self.intake.run())
            for _ in range(10):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait({task})

        asyncio.run(run())

    def records(self, *kinds: str) -> list[dict[str, Any]]:
        found = [(one.kind.rpartition(".")[2], one.payload) for one in self.log.read(LIFECYCLE_TOPIC)]
        return [
            {key: value for key, value in payload.items() if key not in CONTEXT}
            for kind, payload in found
            if kind in kinds
        ]

    def told(self) -> list[tuple[str, str | None, int]]:
        return [(one["reason"], one["reminder_id"], one["count"]) for one in self.records("dropped")]

    def waiting(self) -> list[Any]:
        return [item.what for item in self.session.stored.mailbox.items]


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_a_reminder_enters_the_mailbox_as_external_with_its_server_named(desk: Desk) -> None:
    desk.hear("build green", id="r1", dedupeKey="build", ttlTurns=1, tags=["build"])
    desk.take()
    [reminder] = desk.waiting()
    assert (reminder.id, reminder.body, reminder.dedupe_key, reminder.ttl_turns, reminder.tags) == (
        "r1", "build green", "build", 1, ("build",)
    )  # fmt: skip
    assert (reminder.trust, reminder.provenance.origin, reminder.source) == ("external", "ci", "bridge")
    assert desk.intake.accepted == 1


def test_hearing_waits_for_nobody_and_enters_nothing_by_itself(desk: Desk) -> None:
    desk.hear("x")
    assert (len(desk.intake), desk.waiting()) == (1, [])


def test_what_a_server_claims_beyond_its_advertisement_and_its_trust_is_lowered(desk: Desk) -> None:
    desk.hear("x", id="r1", propagate="all", roleHint="user_block", preserveOnCompact=True)
    desk.hear("y", id="r2", mode="interrupt_immediate")
    desk.take()
    lowered = [(one["reminder_id"], one["field"], one["given"]) for one in desk.records("restricted")]
    assert lowered == [
        ("r1", "preserve_on_compact", False),
        ("r1", "propagate", "session"),
        ("r1", "role_hint", "system"),
        ("r2", "mode", "finish_step"),
    ]
    assert [item.mode for item in desk.session.stored.mailbox.items] == ["finish_step", "finish_step"]


def test_a_grant_of_the_config_lets_a_power_through() -> None:
    desk = Desk(grants=frozenset({"preserve_on_compact", "interrupt_immediate", "wake_idle"}))
    desk.hear("x", preserveOnCompact=True, mode="interrupt_immediate")
    desk.take()
    assert desk.records("restricted") == []
    assert [item.mode for item in desk.session.stored.mailbox.items] == ["interrupt_immediate"]
    assert desk.waiting()[0].preserve_on_compact


def test_reminders_of_a_server_that_does_not_advertise_are_dropped_and_told_once(
    desk: Desk,
) -> None:
    desk.intake.open(None)
    for number in range(50):
        desk.hear("x", id=f"r{number}")
    assert desk.told() == [("undeclared", "r0", 1)]
    desk.intake.close()
    assert desk.told() == [("undeclared", "r0", 1), ("undeclared", None, 49)]
    assert desk.waiting() == []


def test_what_comes_before_the_server_has_said_what_it_sends_waits_for_that(desk: Desk) -> None:
    desk.intake.close()
    desk.hear("early", id="r1")
    desk.tick()
    assert (len(desk.intake), desk.told()) == (1, [])
    desk.intake.open(Advertised())
    desk.take()
    assert [reminder.body for reminder in desk.waiting()] == ["early"]


def test_what_came_on_a_connection_that_never_opened_is_dropped_and_told(desk: Desk) -> None:
    desk.intake.close()
    desk.hear("early", id="r1")
    desk.intake.close()
    assert desk.told() == [("unconnected", "r1", 1)]


def test_a_newer_reminder_with_the_same_key_takes_the_place_of_one_that_waits(desk: Desk) -> None:
    for number in range(3):
        desk.hear(f"build {number}", id=f"r{number}", dedupe_key=" build ")
    assert len(desk.intake) == 1
    desk.take()
    assert [reminder.body for reminder in desk.waiting()] == ["build 2"]
    assert desk.told() == [("replaced", "r0", 1), ("replaced", None, 1)]


def test_the_queue_is_bounded_and_what_leaves_it_is_counted(desk: Desk) -> None:
    for number in range(CAPACITY + 500):
        desk.hear("x", id=f"r{number}")
        assert len(desk.intake) <= CAPACITY
    desk.intake.close()
    counted: dict[str, int] = {}
    for reason, _, count in desk.told():
        counted[reason] = counted.get(reason, 0) + count
    assert counted == {"intake_full": 500, "budget": CAPACITY - Budget().per_minute}
    assert len(desk.waiting()) == Budget().per_minute


def test_a_server_over_its_budget_is_dropped_told_at_once_and_counted_with_the_next(desk: Desk) -> None:
    desk = Desk(budget=Budget(per_minute=2))
    for number in range(5):
        desk.hear("x", id=f"r{number}")
    desk.take()
    assert desk.told() == [("budget", "r2", 1)]
    desk.time = 60.0
    desk.hear("later")
    desk.take()
    assert desk.told() == [("budget", "r2", 1), ("budget", None, 2)]
    assert len(desk.waiting()) == 3


def test_a_reminder_that_is_too_large_is_dropped_unread(desk: Desk) -> None:
    desk.intake.hear(REMINDER, {"reminder": {"body": "x"}}, LARGEST_FRAME + 1)
    assert desk.told() == [("too_large", None, 1)]


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"reminder": "x"},
        {"reminder": {}},
        {"reminder": {"body": "  "}},
        {"reminder": {"body": "x", "ttlTurns": 0}},
        {"reminder": {"body": "x", "propagate": "everyone"}},
        {"reminder": {"body": "x", "id": 7}},
        {"reminder": {"body": "x", "id": "i" * 201}},
        {"reminder": {"body": "x", "id": " "}},
        {"reminder": {"body": "x", "mode": "now"}},
        {"reminder": {"body": "x", "dedupeKey": "a", "dedupe_key": "b"}},
    ],
)
def test_an_invalid_reminder_is_dropped_with_the_reason(desk: Desk, params: dict[str, Any]) -> None:
    desk.intake.hear(REMINDER, params, 10)
    desk.take()
    [record] = desk.records("dropped")
    assert (record["reason"], record["count"], record["origin"]) == ("invalid", 1, "ci")
    assert "HARN-RMD-00" in record["detail"]
    assert desk.waiting() == []


def test_unknown_fields_are_ignored_and_noted(desk: Desk) -> None:
    desk.hear("x", colour="red")
    desk.take()
    [warning] = desk.records("warning")
    assert (warning["code"], warning["fields"]) == ("unknown_fields", ["colour"])
    assert len(desk.waiting()) == 1


def test_the_old_carrier_is_read_and_an_ordinary_log_message_is_none(desk: Desk) -> None:
    desk.intake.hear("notifications/message", {"level": "info", "data": "hello"}, 10)
    carried = {"_meta": {"harn": {"reminder": {"body": "from a log message"}}}}
    desk.intake.hear("notifications/message", {"level": "info", "data": "", **carried}, 10)
    desk.take()
    assert [reminder.body for reminder in desk.waiting()] == ["from a log message"]


def test_a_correlation_id_is_kept_with_the_reminder_that_it_came_with(desk: Desk) -> None:
    desk.hear("x", id="r1", meta={"correlationId": "c" * 500})
    desk.take()
    [warning] = desk.records("warning")
    assert (warning["code"], warning["reminder_id"]) == ("mcp_correlation", "r1")
    assert warning["correlation_id"] == "c" * 200


def test_two_servers_may_use_the_same_ids_and_keys(desk: Desk) -> None:
    other = desk.of("fs")
    desk.hear("of ci", id="1", dedupeKey="k")
    desk.hear("of fs", intake=other, id="1", dedupeKey="k")
    desk.take()
    desk.take(other)
    assert [(one.id, one.body) for one in desk.waiting()] == [("1", "of ci"), ("1", "of fs")]


def test_a_server_cannot_take_the_id_of_somebody_elses_reminder(desk: Desk) -> None:
    desk.session.remind(body="the operator's", id="op-1")
    desk.hear("spoofed", id="op-1")
    desk.take()
    assert [(one.id, one.trust, one.body) for one in desk.waiting()] == [
        ("op-1", "host", "the operator's"),
        ("op-1", "external", "spoofed"),
    ]


def test_an_id_again_is_no_news_and_with_other_content_it_is_refused(desk: Desk) -> None:
    desk.hear("x", id="r1")
    desk.hear("x", id="r1")
    desk.hear("other", id="r1")
    desk.take()
    assert [one.body for one in desk.waiting()] == ["x"]
    assert desk.told() == [("duplicate_id", "r1", 1)]
    with desk.session.step():
        desk.session.drain("iteration_start")
    desk.hear("x", id="r1")
    desk.take()
    assert desk.told()[1:] == [("repeated", "r1", 1)]


def test_a_full_mailbox_is_a_record_and_the_intake_goes_on(desk: Desk) -> None:
    for number in range(MAILBOX):
        desk.session.remind(body=f"{number}")
    desk.hear("one more", id="r1")
    desk.hear("and another", id="r2")
    desk.take()
    assert desk.told() == [("mailbox_full", "r1", 1)]
    with desk.session.step():
        desk.session.drain("iteration_start")
    desk.hear("again", id="r3")
    desk.take()
    assert [one.body for one in desk.waiting()] == ["again"]
    assert desk.told()[1:] == [("mailbox_full", None, 1)]


def test_an_error_of_our_own_costs_one_reminder_and_is_logged(
    desk: Desk, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("the disk is on fire")

    monkeypatch.setattr(desk.session, "remind", broken)
    desk.hear("x", id="r1")
    desk.take()
    monkeypatch.undo()
    desk.hear("y", id="r2")
    desk.take()
    assert desk.told() == [("failed", "r1", 1)]
    assert [one.body for one in desk.waiting()] == ["y"]
    assert "the disk is on fire" in caplog.text


def test_rules_turn_what_servers_push_anyway_into_reminders(desk: Desk) -> None:
    desk = Desk(rules=(Rule(on="resource_updated", match="file:///quiet*"), *Server(name="x").rules))
    desk.intake.open(None)
    for uri in ("file:///a", "file:///quiet/b"):
        desk.intake.hear("notifications/resources/updated", {"uri": uri}, 10)
    desk.intake.hear("notifications/tools/list_changed", {}, 10)
    desk.intake.hear("notifications/prompts/list_changed", {}, 10)
    for done in (1, 2):
        told = {"progress": done, "total": 2, "message": "indexed"}
        desk.intake.hear("notifications/progress", told, 10)
    desk.intake.hear("notifications/progress", {"progress": 2, "total": 2}, 10)
    desk.take()
    assert [(one.body, one.trust, one.provenance.origin) for one in desk.waiting()] == [
        ("file:///a changed on the server ci; read it again before you rely on it.", "external", "ci"),
        ("The tools of the server ci changed.", "external", "ci"),
        ("ci finished: indexed", "external", "ci"),
    ]
    assert desk.told() == []
