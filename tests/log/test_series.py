"""The short way into the log: lines and series are read as the drafts they stand for."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidings.errors import LogUsageError
from tidings.log import open_log
from tidings.log.entry import MAX_DEPTH, Lines, Series, Written
from tidings.log.pack import MOST_CHARACTERS, MOST_RECORDS, drafts_of
from tidings.log.record import CHECKPOINTS
from tidings.log.sqlite import SqliteLog

TOPICS = st.sampled_from(["t", "u"])
KINDS = st.sampled_from(["k", "k.l", "ü"])
VALUES = st.integers() | st.text(max_size=5)
PAYLOADS = st.dictionaries(st.sampled_from(["a", "b\n", "ü"]), VALUES, max_size=3)
LINES = st.lists(st.tuples(KINDS, PAYLOADS), min_size=1, max_size=5)
NAMES = st.lists(st.text(max_size=4), min_size=1, max_size=5).map(tuple)
REST = st.dictionaries(st.sampled_from(["turn", "role"]), VALUES, min_size=1)
SERIES = st.builds(Series, TOPICS, KINDS, st.just("id"), NAMES, REST)


@st.composite
def lines(draw: st.DrawFn) -> Lines:
    drawn = draw(LINES)
    return draw(TOPICS), [kind for kind, _ in drawn], [payload for _, payload in drawn]


@settings(max_examples=100, deadline=None)
@given(commits=st.lists(st.lists(lines() | SERIES, min_size=1, max_size=5), max_size=4))
def test_they_are_read_as_the_drafts_they_stand_for(commits: list[Written]) -> None:
    with (
        tempfile.TemporaryDirectory() as name,
        SqliteLog(Path(name) / "short.db", clock=lambda: 7) as short,
        SqliteLog(Path(name) / "long.db", clock=lambda: 7) as long,
    ):
        for written in commits:
            short.append_series(written)
            long.append_batch(drafts_of(written))
        for topic in ("t", "u"):
            assert list(short.read(topic)) == list(long.read(topic))
        assert short.verify().records == long.verify().records


@pytest.mark.parametrize(
    "payloads",
    [
        [{"text": "x" * MOST_CHARACTERS}, {"n": 1}],
        [{"n": n} for n in range(MOST_RECORDS + 1)],
        [{"many": [[]] * MAX_DEPTH}],
    ],
    ids=["long", "many", "many brackets"],
)
def test_what_is_not_short_and_plain_is_written_all_the_same(
    tmp_path: Path, payloads: list[dict[str, object]]
) -> None:
    with open_log(tmp_path / "log.db") as log:
        assert isinstance(log, SqliteLog)
        log.append_series([("t", ["k"] * len(payloads), list(payloads))])
        assert [record.payload for record in log.read("t")] == payloads


@pytest.mark.parametrize(
    ("written", "told"),
    [
        (("a b", ["k"], [{}]), "topic is 'a b'"),
        ((CHECKPOINTS, ["k"], [{}]), "only purging writes there"),
        (("t", ["a b"], [{}]), "kind is 'a b'"),
        (("t", ["k"], [["no", "object"]]), "payload is list; give a dict"),
        (("t", ["k", "k"], [{}, {"x": object()}]), r"batch\[2\]: payload.x cannot be stored as JSON"),
        (Series(CHECKPOINTS, "k", "id", ("a",), {"n": 1}), "only purging writes there"),
        (Series("t", "k", "id", ("a",), {"id": 1}), "a series by 'id' needs other fields besides"),
        (Series("t", "k", "id", ("\ud800",), {"n": 1}), "cannot be stored as JSON"),
    ],
)
def test_what_cannot_be_kept_is_refused_whole(tmp_path: Path, written: Lines | Series, told: str) -> None:
    with SqliteLog(tmp_path / "log.db") as log:
        with pytest.raises(LogUsageError, match=told):
            log.append_series([("t", ["k"], [{}]), written])
        assert log.topics() == ()
