"""What the panel makes of records: its own modules under node, on the records of a real loop."""

from __future__ import annotations

import json
import shutil
import subprocess
from itertools import permutations
from pathlib import Path
from typing import Any, get_args

import pytest

from tests.panel.hubs import DEADLINE, HubProcess
from tests.panel.stories import Story, small
from tidings.core.reminder import Payload
from tidings.hub.panel.site import FOLDER
from tidings.hub.shapes import Outcome

pytestmark = pytest.mark.skipif(
    shutil.which("node") is None, reason="NO NODE: the panel's fold is tested in the browser only"
)
STREAMS = ("transcript", "lifecycle", "requests")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The panel's modules where node reads them as modules."""
    place = tmp_path_factory.mktemp("modules") / "static"
    shutil.copytree(FOLDER, place)
    shutil.copy(Path(__file__).with_name("fold.mjs"), place)
    (place / "package.json").write_text('{"type": "module"}')
    return place


def folded(folder: Path, does: str, **given: object) -> Any:
    done = subprocess.run(
        ["node", "fold.mjs"],
        input=json.dumps({"does": does, **given}),
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=DEADLINE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def told(hub: HubProcess) -> list[Payload]:
    """The records of the small story, as its loop told them to the hub."""
    with Story(hub, small) as story:
        story.session.remind(body="Later.", id="later", mode="interrupt_immediate")
    records: list[Payload] = hub.ask("GET", "/v1/sessions/records?sessionId=s1")["records"]
    return records


def reminder(name: str, state: str, reason: str, body: str, **more: object) -> Payload:
    plain: Payload = {"id": name, "state": state, "reason": reason, "body": body, "trust": "host"}
    return {**plain, "left": None, "places": [], **more}


def place(turn: int, body: str) -> list[object]:
    return [turn, "system", "messages[0].content", f"System reminder:\n{body}"]


RED, GREEN = "The build is red.", "The build is green."
LEFT, RIGHT = "left: the tests are green again.", "right: the tests are green again."
EXPECTED: Payload = {
    "turns": [
        {
            "turn": 1, "said": ["Look around."], "answer": "", "calls": [["look", "nothing left"]],
            "showed": ["green"], "route": "openai-compatible/scripted",
        },
        {
            "turn": 2, "said": [], "answer": "", "calls": [["look", "nothing right"]],
            "showed": ["green", "green-left"], "route": "openai-compatible/scripted",
        },
        {
            "turn": 3, "said": [], "answer": "All is well.", "calls": [],
            "showed": ["green-right"], "route": "openai-compatible/scripted",
        },
    ],
    "reminders": [
        reminder("red", "replaced", "Replaced by green, which has the same key “build”.", RED),
        reminder(
            "green", "expired", "Its 2 turns were over after turn 2. Shown in turns 1–2.", GREEN,
            places=[place(1, GREEN), place(2, GREEN)],
        ),
        reminder(
            "audit", "audited", "Kept for the audit when the loop ended; the model never saw it.",
            "For the audit only.",
        ),
        reminder(
            "green-left", "replaced",
            "Replaced by green-right, which has the same key “tests”. Shown in turn 2.", LEFT,
            places=[place(2, LEFT)],
        ),
        reminder("never-left", "revoked", "Taken back before a seam let it in.", "Never mind."),
        reminder(
            "green-right", "emitted", "Shown in turn 3; still in the transcript, 1 turn left.", RIGHT,
            left=1, places=[place(3, RIGHT)],
        ),
        reminder("never-right", "revoked", "Taken back before a seam let it in.", "Never mind."),
        reminder(
            "later", "queued", "In the mailbox; it is let in at the next seam, also before tools run.",
            "Later.",
        ),
    ],
    "notes": 0,
}  # fmt: skip


def sorted_by_id(seen: Payload) -> Payload:
    """The same with reminders by id: the order in which streams come decides which is heard of first."""
    rows: Any = seen["reminders"]
    return {**seen, "reminders": sorted(rows, key=lambda row: str(row["id"]))}


def test_the_records_of_a_real_loop_give_turns_and_reminders_with_their_reasons(
    folder: Path, told: list[Payload]
) -> None:
    assert sorted_by_id(folded(folder, "session", records=told)) == sorted_by_id(EXPECTED)


@pytest.mark.parametrize("order", list(permutations(STREAMS)), ids="-".join)
def test_streams_need_not_be_in_step(folder: Path, told: list[Payload], order: tuple[str, ...]) -> None:
    shuffled = [one for stream in order for one in told if one["stream"] == stream]
    numbered = [{**one, "cursor": at, "epoch": None} for at, one in enumerate(shuffled, 1)]
    seen = folded(folder, "session", records=numbered)
    showed = [{**turn, "showed": sorted(turn["showed"])} for turn in seen["turns"]]
    assert {**sorted_by_id(seen), "turns": showed} == sorted_by_id(EXPECTED)


def test_a_reminder_on_its_way_is_one_of_the_session_before_the_session_knows_it(folder: Path) -> None:
    accepted: Payload = {
        "reminder_id": "r", "reminder": {"body": "Soon.", "tags": ["x"]}, "mode": "finish_step",
        "to": {"session": "s1"}, "deliver_until_ms": 0, "accepted_at_ms": 1,
    }  # fmt: skip
    hub = [
        hub_record(1, "reminder.accepted", accepted),
        hub_record(2, "reminder.addressed", {"reminder_id": "r", "session_ids": ["s1"]}),
        hub_record(3, "reminder.leased", {"reminder_id": "r", "session_id": "s1", "until_ms": 9}),
    ]
    (row,) = folded(folder, "session", records=[], hub=hub)["reminders"]
    reason = "The session's host has it and has not confirmed it yet."
    assert row == reminder("r", "queued", reason, "Soon.")


def hub_record(cursor: int, kind: str, payload: Payload) -> Payload:
    return {"cursor": cursor, "kind": f"hub.{kind}", "payload": payload, "occurred_at_ms": cursor}


def record(kind: str, cursor: int, **payload: object) -> Payload:
    return {"cursor": cursor, "stream": "transcript", "kind": kind, "atMs": cursor, "payload": payload}


def message(cursor: int, role: str, text: str) -> Payload:
    return record("transcript.message", cursor, message={"role": role, "content": text})


def test_a_session_that_starts_over_keeps_what_was_and_counts_anew(folder: Path) -> None:
    fresh: Payload = {"messages": [], "events": []}
    seen = folded(
        folder,
        "session",
        records=[
            message(1, "user", "one"),
            record("transcript.fired", 2, turn=1),
            message(3, "assistant", "first"),
            record("transcript.passed", 4, turn=1),
            record("transcript.snapshot", 5, transcript=fresh),
            message(6, "user", "two"),
            record("transcript.fired", 7, turn=1),
            message(8, "assistant", "second"),
        ],
    )
    told = [(one.get("turn"), one.get("answer"), one.get("kind")) for one in seen["turns"]]
    assert told == [(1, "first", None), (None, None, "restart"), (1, "second", None)]


def test_records_from_the_middle_of_a_session_are_not_taken_for_its_beginning(folder: Path) -> None:
    seen = folded(
        folder,
        "session",
        records=[
            message(501, "user", "earlier words"),
            record("transcript.fired", 502, turn=40),
            message(503, "assistant", "fortieth"),
        ],
    )
    told = [(one["turn"], one["said"], one["answer"]) for one in seen["turns"]]
    assert told == [(0, ["earlier words"], None), (40, [], "fortieth")]


def test_a_host_without_a_transcript_goes_on_counting_in_the_next_epoch(folder: Path) -> None:
    def told(cursor: int, kind: str, **payload: object) -> Payload:
        row = record(f"transcript.reminder.{kind}", cursor, reminder_id="r", **payload)
        return {**row, "stream": "lifecycle", "epoch": f"hub-{cursor}"}

    seen = folded(
        folder,
        "session",
        records=[
            told(1, "injected", ttl_turns=3, trust="host", fired_at_turn=4),
            told(2, "fired", turn_number=4, rendered_role="user"),
            told(3, "fired", turn_number=6, rendered_role="user"),
            told(4, "expired", reason="ttl", expired_at_turn=6),
        ],
    )
    assert [(one["turn"], one["showed"]) for one in seen["turns"]] == [(4, ["r"]), (6, ["r"])]
    reason = "Its 3 turns were over after turn 6. Shown in turns 4, 6."
    assert [(one["state"], one["reason"]) for one in seen["reminders"]] == [("expired", reason)]


def test_the_board_follows_envelopes_sessions_and_counts(folder: Path) -> None:
    everybody: Payload = {"all": True}
    accepted: Payload = {"reminder": {"body": "x"}, "mode": "finish_step", "deliver_until_ms": 9}
    records = [
        hub_record(1, "session.registered", {"session_id": "a"}),
        hub_record(2, "session.registered", {"session_id": "b"}),
        hub_record(3, "reminder.accepted", {**accepted, "reminder_id": "r1", "to": everybody}),
        hub_record(4, "reminder.addressed", {"reminder_id": "r1", "session_ids": ["a", "b"]}),
        hub_record(5, "reminder.leased", {"reminder_id": "r1", "session_id": "a", "until_ms": 9}),
        hub_record(6, "reminder.acknowledged", {"reminder_id": "r1", "session_id": "a"}),
        hub_record(7, "reminder.accepted", {**accepted, "reminder_id": "r2", "to": {"session": "a"}}),
        hub_record(8, "reminder.addressed", {"reminder_id": "r2", "session_ids": ["a"]}),
        hub_record(9, "reminder.leased", {"reminder_id": "r2", "session_id": "a", "until_ms": 9}),
        hub_record(10, "reminder.returned", {"reminder_id": "r2", "session_id": "a", "reason": "x"}),
        hub_record(11, "reminder.accepted", {**accepted, "reminder_id": "r3", "to": {"tag": "t"}}),
        hub_record(12, "reminder.revoked", {"reminder_id": "r3"}),
        hub_record(13, "session.left", {"session_id": "b", "reason": "silent", "at_ms": 13}),
    ]
    seen = folded(folder, "board", records=records)
    assert seen == {
        "waiting": 2,
        "sessions": [["a", "live", 1], ["b", "ended", 1]],
        "envelopes": [
            ["r1", "waiting", True, False],
            ["r2", "waiting", True, False],
            ["r3", "revoked", False, True],
        ],
    }
    again = folded(folder, "board", records=[*records, *records])
    assert again == {**seen, "envelopes": again["envelopes"]}


def test_the_board_follows_what_is_taken_back_from_one_session_and_what_sessions_are_asked(
    folder: Path,
) -> None:
    accepted: Payload = {"reminder": {"body": "x"}, "mode": "finish_step", "deliver_until_ms": 9}
    about: Payload = {"withdrawal_id": "w1", "session_id": "b"}
    records = [
        hub_record(1, "reminder.accepted", {**accepted, "reminder_id": "r1", "to": {"all": True}}),
        hub_record(2, "reminder.addressed", {"reminder_id": "r1", "session_ids": ["a", "b", "c"]}),
        hub_record(3, "reminder.leased", {"reminder_id": "r1", "session_id": "b", "until_ms": 9}),
        hub_record(4, "reminder.revoked", {"reminder_id": "r1", "session_ids": ["a", "b"]}),
        hub_record(5, "withdrawal.asked", {**about, "revoke": "r1"}),
        hub_record(6, "withdrawal.answered", {**about, "result": "unknown_reminder_id"}),
        hub_record(7, "reminder.returned", {"reminder_id": "r1", "session_id": "b", "reason": "withdrawn"}),
        hub_record(8, "withdrawal.asked", {**about, "withdrawal_id": "w2", "clear": {"tag": "t"}}),
        hub_record(9, "withdrawal.lapsed", {**about, "withdrawal_id": "w2", "reason": "unanswered"}),
    ]
    seen = folded(folder, "takeback", records=records)
    assert seen["deliveries"] == [{"a": "revoked", "b": "revoked", "c": "waiting"}]
    assert seen["histories"][0][3:] == [
        "withheld from 2 sessions",
        "b is asked to take it back",
        "b answered: it is not known there",
        "back at the hub: withdrawn",
    ]
    assert seen["questions"] == 0
    results, beside = get_args(Outcome)
    assert set(seen["outcomes"]) == {*get_args(results), *get_args(beside)}


def test_other_peoples_text_is_made_visible(folder: Path) -> None:
    given = {
        "a\x00b\x1b[1m": "a␀b␛[1m",
        "\u202eevil\u202c": "⟨U+202E⟩evil⟨U+202C⟩",
        "line\r\nnext\ttab": "line\nnext\ttab",
        "half \ud83d pair": "half ⟨U+D83D⟩ pair",
        "👩\u200d👧 fam\u200dily": "👩\u200d👧 fam\u200dily",
        "1\u200d2": "1⟨U+200D⟩2",
        "\U000e0041": "⟨U+E0041⟩",
    }
    seen = folded(folder, "text", visibles=list(given), lines=["a\n\n b\u2028c"])
    assert seen["visibles"] == list(given.values())
    assert seen["lines"] == ["a b⟨U+2028⟩c"]


def test_words_and_figures(folder: Path) -> None:
    seen = folded(
        folder,
        "text",
        beginnings=[["short", 10, 2], ["a\nb\nc", 10, 2], ["ab😀", 3, 9]],
        rangeLists=[[1, 2, 3, 5], [7], []],
        spans=[0, 59_000, 61_000, 600_000, 5_400_000, 200_000_000],
        counts=[[1, "turn"], [12_345, "record"], [2, "entry", "entries"]],
    )
    assert seen == {
        "visibles": [],
        "lines": [],
        "beginnings": [
            {"text": "short", "whole": True},
            {"text": "a\nb", "whole": False},
            {"text": "ab", "whole": False},
        ],
        "ranges": ["1–3, 5", "7", ""],
        "spans": ["0 s", "59 s", "1 min 1 s", "10 min", "1 h 30 min", "2 days"],
        "counts": ["1 turn", "12,345 records", "2 entries"],
    }
