"""`tidings replay` gives a session back as it was at each turn, from its log or what it told the hub."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import tidings as td
from tests.hub.desks import DEADLINE
from tests.hub.running import place_in, running_in
from tidings.cli.main import app
from tidings.cli.replaying import Entry, Moment, moment, of_hub, of_log
from tidings.hub import Attached
from tidings.hub.told import told_topic
from tidings.log import open_log
from tidings.testing import ScriptedModel, call


@td.tool(read_only=True)
async def look() -> str:
    """Look around."""
    return "nothing here"


async def work(session: td.Session) -> ScriptedModel:
    """Three turns; one reminder is seen by all of them, one by the first alone, one waits."""
    model = ScriptedModel([call("look"), call("look"), "Done."])
    session.remind(id="long", body="The build is red.", ttl_turns=3)
    session.remind(id="short", body="A file changed.", ttl_turns=1)
    await td.agent_loop("Look around.", model=model, tools=[look], session=session)
    session.remind(id="waits", body="Later.")
    return model


def seen(found: Moment) -> list[object]:
    return [row["reminder_id"] for row in found.rendered]


def pending(found: Moment) -> list[str]:
    return [reminder.id for reminder in found.stored.transcript.pending]


def test_each_turn_shows_what_its_request_showed_and_the_end_is_the_live_session(tmp_path: Path) -> None:
    with open_log(tmp_path / "agent.db") as log:
        session = td.Session("s1", log=log)
        asyncio.run(work(session))
        moments = [moment(of_log(log, "s1"), "s1", turn) for turn in (1, 2, 3)]
        last = moment(of_log(log, "s1"), "s1")
    assert [(found.turn, seen(found), pending(found)) for found in moments] == [
        (1, ["long", "short"], ["long", "short"]),
        (2, ["long"], ["long"]),
        (3, ["long"], ["long"]),
    ]
    assert [len(found.stored.transcript.messages) for found in moments] == [1, 3, 5]
    assert last.stored == session.stored
    assert (last.turn, last.turns, last.left_out) == (3, (1, 2, 3), 0)


def test_what_a_session_told_the_hub_gives_the_same_moments_and_the_place_of_each_reminder(
    tmp_path: Path,
) -> None:
    place = place_in(tmp_path)

    async def scene(session: td.Session) -> None:
        joined = Attached(session, socket=place.socket, workspace=str(tmp_path))
        async with asyncio.timeout(DEADLINE), running_in(place), joined:
            await work(session)

    with open_log(tmp_path / "agent.db") as own:
        session = td.Session("s1", log=own)
        asyncio.run(scene(session))
        with open_log(place.database) as hub:
            for turn in (1, 2, 3, None):
                mine, told = (
                    moment(of_log(own, "s1"), "s1", turn),
                    moment(of_hub(hub, "s1"), "s1", turn),
                )
                assert told.stored == mine.stored
                assert seen(told) == seen(mine)
            (row, _) = moment(of_hub(hub, "s1"), "s1", 1).rendered
    assert (row["reminder_id"], row["path"]) == ("long", "messages[0].content")
    assert "The build is red." in str(row["fragment"])


def test_a_session_that_begins_anew_is_replayed_from_there() -> None:
    told = [
        Entry("transcript.message", {"message": {"role": "user", "content": "old"}}),
        Entry("transcript.fired", {"turn": 1}),
        Entry("transcript.message", {"message": {"role": "user", "content": "new"}}, anew=True),
    ]
    found = moment(told, "s")
    assert (found.turns, [one["content"] for one in found.stored.transcript.messages]) == ((), ["new"])


def test_the_hub_tells_when_another_log_begins(tmp_path: Path) -> None:
    with open_log(tmp_path / "hub.db") as log:
        for epoch, content in (("a", "old"), (None, "older"), ("b", "new")):
            stored = {
                "stream": "transcript",
                "seq": 1,
                "at_ms": 1,
                "payload": {"message": {"content": content}},
            }
            log.append(told_topic("s"), "transcript.message", stored | ({"epoch": epoch} if epoch else {}))
        assert [entry.anew for entry in of_hub(log, "s")] == [False, False, True]


def test_a_record_that_was_cut_is_left_out_and_counted() -> None:
    told = [
        Entry("transcript.message", {"cut_bytes": 3_000_000}),
        Entry("transcript.message", {"message": {"role": "user", "content": "hello"}}),
    ]
    found = moment(told, "s")
    assert (found.left_out, len(found.stored.transcript.messages)) == (1, 1)


def test_a_host_without_a_transcript_still_has_its_turns() -> None:
    rendered = [{"reminder_id": "r", "role": "system", "path": "hook", "fragment": "x"}]
    told = [Entry("request.rendered", {"turn": 4, "rendered": rendered})]
    found = moment(told, "s", 4)
    assert (found.turns, seen(found)) == ((4,), ["r"])


@pytest.fixture
def log(tmp_path: Path) -> str:
    path = tmp_path / "agent.db"
    with open_log(path) as log:
        asyncio.run(work(td.Session("s1", log=log)))
    return str(path)


def replay(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["replay", *arguments])
    return result.exit_code, result.stdout, result.stderr


def test_people_see_messages_reminders_and_what_the_request_showed(log: str) -> None:
    code, out, err = replay("s1", "--log", log, "--turn", "2")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "session s1, turn 2 of 3",
        "messages: 3",
        "  user       Look around.",
        "  assistant  [calls look]",
        "  tool       nothing here",
        "pending: 1",
        "  long       (2 turns left, bridge) The build is red.",
        "queued: none",
        "shown in turn 2: 1",
        "  long       as system The build is red.",
    ]


def test_json_has_the_whole_moment(log: str) -> None:
    _, out, _ = replay("s1", "--log", log, "--json")
    answer = json.loads(out)
    assert answer.keys() == {
        "sessionId", "turn", "turns", "transcript", "pending", "queued", "rendered", "leftOut",
    }  # fmt: skip
    assert [row["id"] for row in answer["queued"]] == ["waits"]
    assert answer["turns"] == [1, 2, 3]


def test_an_unknown_session_or_turn_names_those_there_are(log: str) -> None:
    assert replay("nobody", "--log", log) == (
        2, "", "tidings: this log has no session 'nobody'; there are s1\n",
    )  # fmt: skip
    assert replay("s1", "--log", log, "--turn", "9") == (
        2, "", "tidings: session 's1' had no turn 9; it had turns 1 to 3\n",
    )  # fmt: skip


def test_without_a_hub_or_a_log_the_way_out_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIDINGS_HOME", str(tmp_path / "none"))
    words = "no hub has run yet; start one with `tidings up`, or give the path of a log"
    assert replay("s1") == (2, "", f"tidings: {words}\n")
