"""Records that share a row: how many do, and that no reader can tell."""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tidings.log import Verified, open_log
from tidings.log.chain import Row
from tidings.log.entry import Columns, Entry, Series
from tidings.log.pack import MOST_CHARACTERS, MOST_RECORDS, count, packets, packets_of, unpacked
from tidings.log.writer import stack
from tidings.testing.log_contract import take

KINDS = st.sampled_from(["k", "k.l", "ü", "20"])
PAYLOADS = st.sampled_from(["{}", '{"text":"a\\nb  c"}', '{"ü":"\u2028"}'])
TIMES = st.integers(min_value=1, max_value=3)
ENTRIES = st.lists(st.builds(Entry, st.just("t"), KINDS, PAYLOADS, TIMES), min_size=1, max_size=20)


def rows_in(path: Path) -> list[tuple[int, str]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT id % (1 << 40), kind FROM records ORDER BY id").fetchall()


def pack(entries: list[Entry], first: int) -> list[Row]:
    return stack(packets(Columns.of(entries)), {"t": (0, first - 1, bytes(32))}).rows["records"]


@given(entries=ENTRIES)
def test_what_is_packed_comes_out_again(entries: list[Entry]) -> None:
    rows = pack(entries, 11)
    cursors, times, kinds = unpacked(*zip(*[row[:3] for row in rows], strict=True))
    payloads = [line for row in rows for line in row[3].split("\n")]
    assert [count(row[2]) for row in rows] == [row[3].count("\n") + 1 for row in rows]
    assert cursors == list(range(11, 11 + len(entries)))
    assert list(map(Entry, ["t"] * len(kinds), kinds, payloads, times)) == entries


@settings(max_examples=50, deadline=None)
@given(
    batches=st.lists(st.lists(KINDS, min_size=1, max_size=12), max_size=5),
    start=st.integers(0, 40),
    prefix=st.sampled_from(["", "k", "k.", "2", "x"]),
    limit=st.none() | st.integers(0, 20),
)
def test_records_that_share_rows_are_read_as_those_that_do_not(
    batches: list[list[str]], start: int, prefix: str, limit: int | None
) -> None:
    with (
        tempfile.TemporaryDirectory() as name,
        open_log(Path(name) / "together.db", clock=lambda: 7) as together,
        open_log(Path(name) / "apart.db", clock=lambda: 7) as apart,
    ):
        for batch in batches:
            drafts = [("t", kind, {"n": n, "kind": kind}) for n, kind in enumerate(batch)]
            assert together.append_batch(drafts) == tuple(apart.append(*draft) for draft in drafts)
        expected = list(apart.read("t", start, prefix, limit))
        assert list(together.read("t", start, prefix, limit)) == expected
        assert together.verify().records == apart.verify().records == sum(map(len, batches))


def test_a_commit_has_one_row_in_each_topic(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    with open_log(path) as log:
        log.append_batch([("t", "a", {}), ("u", "x", {}), ("t", "a", {}), ("t", "b", {})])
        log.append("t", "a", {})
    assert rows_in(path) == [(3, "a a b"), (4, "a"), (1, "x")]


def test_a_row_ends_where_the_time_changes() -> None:
    entries = [Entry("t", "k", "{}", at) for at in (5, 5, 6, 5)]
    assert [row[:4] for row in pack(entries, 1)] == [
        (2, 5, "k ", "{}\n{}"),
        (3, 6, "k", "{}"),
        (4, 5, "k", "{}"),
    ]


def test_a_row_holds_only_so_much() -> None:
    small = [Entry("t", "k", "{}", 5)] * (MOST_RECORDS + 1)
    assert [count(row[2]) for row in pack(small, 1)] == [MOST_RECORDS, 1]
    half = Entry("t", "k", "x" * (MOST_CHARACTERS // 2), 5)
    rest = Entry("t", "k", "x" * (MOST_CHARACTERS // 2 - 1), 5)
    big = Entry("t", "k", "x" * (MOST_CHARACTERS + 1), 5)
    assert [count(row[2]) for row in pack([half, rest, half, half, big, rest], 1)] == [2, 1, 1, 1, 1]


def test_a_row_of_a_series_holds_only_so_much() -> None:
    many, long = tuple(map(str, range(MOST_RECORDS + 1))), ("x" * (MOST_CHARACTERS // 2),) * 3
    rows = [packets_of([Series("t", "k", "id", values, {"n": 1})], 5)["t"] for values in (many, long)]
    assert [[number for number, *_ in row] for row in rows] == [[MOST_RECORDS, 1], [1, 1, 1]]


def test_a_long_batch_is_read_from_any_place(tmp_path: Path) -> None:
    with open_log(tmp_path / "log.db") as log:
        records = log.append_batch([("t", "k", {"n": n, "text": "x" * 100}) for n in range(700)])
        for start in (0, 1, 100, 255, 256, 257, 699, 700):
            assert list(log.read("t", start)) == list(records[start:])
        assert log.verify() == Verified(topics=1, records=700, batches=1)


def test_a_subscriber_that_begins_inside_a_row_gets_the_rest_of_it(tmp_path: Path) -> None:
    with open_log(tmp_path / "log.db") as log:
        records = log.append_batch([("t", f"k.{n % 2}", {"n": n}) for n in range(40)])
        rest = asyncio.run(take(log.subscribe("t", 17), 23))
        odd = asyncio.run(take(log.subscribe("t", 17, "k.1"), 12))
    assert rest == list(records[17:])
    assert odd == [record for record in records[17:] if record.kind == "k.1"]
