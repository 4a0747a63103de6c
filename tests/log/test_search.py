"""Finding places in a topic, and purging a long past in steps, on every log."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from tidings.log import EventLog, open_log
from tidings.log.entry import now_ms
from tidings.log.plan import Plan, Planned, carry_out, plan
from tidings.log.record import CHECKPOINTS
from tidings.log.search import cursor_before, kept, last
from tidings.log.steps import CHECKPOINTS_MOST, in_steps, tidy_checkpoints


@pytest.fixture(params=["memory", "sqlite"])
def log(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[EventLog]:
    address = "memory:" if request.param == "memory" else tmp_path / "log.db"
    ticks = count(1)
    with open_log(address, clock=lambda: next(ticks) * 10) as log:
        yield log


def write(log: EventLog, number: int, kind: str = "k") -> None:
    for _ in range(number):
        log.append("t", kind, {})


@pytest.mark.parametrize("behind", [0, 1, 255, 256, 800])
def test_the_last_of_a_kind_is_found_wherever_it_is(log: EventLog, behind: int) -> None:
    write(log, 300)
    write(log, 2, "wanted")
    write(log, behind, "wanted.not")
    found = last(log, "t", "wanted")
    assert found is not None
    assert (found.cursor, found.kind) == (302, "wanted")
    log.purge("t", 301)
    assert last(log, "t", "wanted") == found
    log.purge("t", 302)
    assert last(log, "t", "wanted") is None


@pytest.mark.parametrize("purged", [0, 3, 10])
def test_the_cursor_at_a_time_is_that_of_the_last_record_before_it(log: EventLog, purged: int) -> None:
    write(log, 10)
    log.purge("t", purged)
    times = [0, 10, 11, 55, 60, 100, 101, 10_000]
    assert [cursor_before(log, "t", at) for at in times] == [
        max(purged, each) for each in (0, 0, 1, 5, 5, 9, 10, 10)
    ]
    assert cursor_before(log, "t", 10_000, end=4) == max(purged, 4)
    assert cursor_before(log, "none", 10_000) == 0


def test_what_is_kept_is_read_from_the_cut_on_also_when_it_moves(log: EventLog) -> None:
    write(log, 600)
    log.purge("t", 10)
    records = kept(log, "t")
    seen = [next(records).cursor]
    log.purge("t", 400)
    seen += [record.cursor for record in records]
    assert seen[0] == 11
    assert seen[-200:] == list(range(401, 601))


def test_a_long_past_goes_in_steps_of_whole_commits(log: EventLog) -> None:
    write(log, 4)
    log.append_batch([("t", "k", {}) for _ in range(25)])
    write(log, 4)
    steps = [(one.purged_through, one.count) for one in in_steps(log, "t", 31, step=3)]
    assert steps == [(3, 3), (4, 1), (31, 27)]
    assert list(in_steps(log, "t", 31, step=3)) == []
    assert log.latest(CHECKPOINTS) == 3


def test_a_commit_that_reaches_beyond_the_end_stays(log: EventLog) -> None:
    log.append_batch([("t", "k", {}) for _ in range(25)])
    assert list(in_steps(log, "t", 20, step=3)) == []


def test_a_plan_is_carried_out_in_steps_and_tidies_up(log: EventLog) -> None:
    write(log, CHECKPOINTS_MOST + 20)
    for _ in in_steps(log, "t", CHECKPOINTS_MOST + 10, step=1):
        pass
    made = plan(log, ["t"], now_ms())
    assert made == Plan([Planned("t", 10, CHECKPOINTS_MOST + 20)], [])
    assert carry_out(log, made) == made.going
    assert log.latest(CHECKPOINTS) - log.purged_through(CHECKPOINTS) == 2
    assert plan(log, ["t"], now_ms()) == Plan([], [])


def test_checkpoints_are_tidied_once_there_are_many(log: EventLog) -> None:
    write(log, 40)
    done = [tidy_checkpoints(log, most=10) for _ in in_steps(log, "t", 40, step=1)]
    assert 1 <= sum(one is not None for one in done) <= 4
    assert log.latest(CHECKPOINTS) - log.purged_through(CHECKPOINTS) < 20
    assert [(one.topic, one.purged_through) for one in log.verify().checkpoints][-1] == ("t", 40)
