"""Any sequence of appends, on every log: dense cursors, faithful replay, exact filters."""

from __future__ import annotations

import asyncio
import tempfile
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidings.core.records import LIFECYCLE_TOPIC
from tidings.errors import LogUsageError
from tidings.log import EventLog, LogRecord, open_log
from tidings.log.entry import MAX_DEPTH, Entry, entries_of
from tidings.testing.log_contract import take

TOPICS = st.sampled_from(["a", "session.1.transcript", LIFECYCLE_TOPIC])
KINDS = st.sampled_from(["x", "x.y", "x.y.z", "xy", "ü", "X"])
SCALARS = st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False)
PAYLOADS = st.dictionaries(
    st.text(),
    st.recursive(
        SCALARS.filter(lambda value: value not in (float("inf"), float("-inf"))),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=5,
    ),
    max_size=4,
)
DRAFTS = st.tuples(TOPICS, KINDS, PAYLOADS)
STEPS = st.lists(st.tuples(st.sampled_from(["one", "batch", "durable"]), st.lists(DRAFTS)))
ADDRESSES: list[Callable[[Path], str | Path]] = [lambda _: "memory:", lambda path: path / "log.db"]


def play(log: EventLog, steps: list[tuple[str, list[tuple[str, str, dict[str, object]]]]]) -> None:
    for how, drafts in steps:
        if how == "batch":
            log.append_batch(drafts)
        elif how == "one":
            for draft in drafts:
                log.append(*draft)
        else:
            asyncio.run(together(log, drafts))


async def together(log: EventLog, drafts: list[tuple[str, str, dict[str, object]]]) -> None:
    await asyncio.gather(*(log.append_durable(*draft) for draft in drafts))


@pytest.mark.parametrize("address", ADDRESSES, ids=["memory", "sqlite"])
@settings(max_examples=30, deadline=None)
@given(steps=STEPS, prefix=st.sampled_from(["", "x", "x.", "xy", "ü"]))
def test_a_log_replays_what_was_appended(
    address: Callable[[Path], str | Path],
    steps: list[tuple[str, list[tuple[str, str, dict[str, object]]]]],
    prefix: str,
) -> None:
    expected: dict[str, list[LogRecord]] = defaultdict(list)
    for _, drafts in steps:
        for topic, kind, payload in drafts:
            cursor = len(expected[topic]) + 1
            expected[topic].append(LogRecord(cursor, topic, kind, payload, 7))
    with tempfile.TemporaryDirectory() as name, open_log(address(Path(name)), clock=lambda: 7) as log:
        play(log, steps)
        assert log.topics() == tuple(sorted(expected))
        assert log.verify().records == sum(map(len, expected.values()))
        for topic, records in expected.items():
            matching = [record for record in records if record.kind.startswith(prefix)]
            assert list(log.read(topic)) == records
            assert list(log.read(topic, kind_prefix=prefix)) == matching
            if matching:
                follower = log.subscribe(topic, kind_prefix=prefix)
                assert asyncio.run(take(follower, len(matching))) == matching


def encoded(drafts: list[object], one_by_one: bool) -> list[Entry] | str:
    try:
        if one_by_one:
            return [entries_of([draft], 7)[0] for draft in drafts]
        return entries_of(drafts, 7)
    except LogUsageError as error:
        return str(error).partition("]")[2]


DEEP: object = "deep"
for _ in range(70):
    DEEP = [DEEP, {"and": "wide"}]
TOO_DEEP = DEEP
for _ in range(MAX_DEPTH):
    TOO_DEEP = [TOO_DEEP]
ODD = [
    ("a b", "x", {}),
    (5, "x", {}),
    ([], "x", {}),
    ("a", "", {}),
    ("a", "x", []),
    ("a", "x", {"what": object()}),
    ("a", "x", {"nested": DEEP}),
    ("a", "x", {"nested": TOO_DEEP}),
    ("a", "x", {"nested": [DEEP] * 3, "line": "one\ntwo\r\n\u2028", "nan": float("nan")}),
    ("a", "x"),
    "axy",
]


@given(drafts=st.lists(DRAFTS | st.sampled_from(ODD), max_size=8))
def test_a_batch_is_encoded_and_refused_as_its_drafts_one_by_one_are(drafts: list[object]) -> None:
    assert encoded(drafts, one_by_one=False) == encoded(drafts, one_by_one=True)
