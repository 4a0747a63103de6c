"""The core's hot paths: inject, clear and the post-turn pass, against a mutable dict."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from msgspec.structs import replace

from benchmarks.measure import Measurement, measurement, ratio
from tidings.core.lifecycle import Selector, clear, inject, post_turn
from tidings.core.reminder import Reminder
from tidings.core.transcript import Transcript

SIZES = (10, 100, 1_000, 10_000)
REPORTED = 100_000
_numbers = count()


def reminder(key: int, ttl: int = 3) -> Reminder:
    return Reminder(
        id=f"0190abcd-2024-7c1d-bb02-{next(_numbers):012d}",
        tags=("workspace",),
        dedupe_key=f"file_changed:src/module_{key}.py",
        ttl_turns=ttl,
        preserve_on_compact=False,
        propagate="session",
        role_hint="system",
        source="in_pipeline",
        body=f"File changed externally: src/module_{key}.py. Re-read it before editing.",
        fired_at_turn=0,
    )


def filled(size: int, ttl: Callable[[int], int] = lambda _: 3) -> Transcript:
    transcript = Transcript()
    for key in range(size):
        transcript = inject(transcript, reminder(key, ttl(key)), "event").transcript
    return transcript


def pop_and_set(table: dict[object, object], key: object, value: object) -> None:
    table.pop(key, None)
    table[key] = value


class Injecting:
    """Replace random keys in a transcript of a size, and the same in a dict."""

    def __init__(self, size: int, operations: int) -> None:
        self.size, self.operations = size, operations
        self.transcript = filled(size)
        self.table: dict[object, object] = {r.dedupe_key: r for r in self.transcript.pending}
        self.new: list[Reminder] = []

    def setup(self) -> None:
        self.new = [reminder(n * 7919 % self.size) for n in range(self.operations)]

    def ours(self) -> None:
        transcript = self.transcript
        for new in self.new:
            transcript = inject(transcript, new, "event").transcript
        self.transcript = transcript

    def theirs(self) -> None:
        table = self.table
        for new in self.new:
            pop_and_set(table, new.dedupe_key, new)


class Clearing:
    """Clear half of the reminders of fresh transcripts, by key or by id."""

    def __init__(self, size: int, operations: int, by: str) -> None:
        self.size, self.by = size, by
        self.copies = max(1, operations * 2 // size)
        self.keys = min(size // 2, operations)
        self.table: dict[object, object] = dict.fromkeys(f"key{n}" for n in range(size))

    def setup(self) -> None:
        self.starts = [filled(self.size) for _ in range(self.copies)]
        self.plans = [
            [r.dedupe_key if self.by == "dedupe_key" else r.id for r in start.pending[: self.keys]]
            for start in self.starts
        ]
        self.starts = [Transcript.of(start.state) for start in self.starts]

    def ours(self) -> None:
        for start, plan in zip(self.starts, self.plans, strict=True):
            transcript = start
            for name in plan:
                transcript = clear(transcript, Selector(**{self.by: name})).transcript

    def theirs(self) -> None:
        table = self.table
        for plan in self.plans:
            for name in plan:
                pop_and_set(table, name, plan)


def _injecting(quick: bool) -> list[Measurement]:
    found, rounds = [], 3 if quick else 25
    operations = 300 if quick else 4_000
    for size in SIZES if quick else (*SIZES, REPORTED):
        case = Injecting(size, operations)
        value, ours, theirs = ratio(case.ours, case.theirs, rounds=rounds, setup=case.setup)
        detail = f"{ours / operations * 1e6:.2f} us against {theirs / operations * 1e6:.2f} us"
        target = "" if size == REPORTED else "<= 16"
        name = f"inject with dedupe, {size:,} pending"
        found.append(measurement(name, value, target=target, detail=detail))
    small, large = Injecting(10, operations), Injecting(10_000, operations)

    def both() -> None:
        small.setup()
        large.setup()

    growth, _, _ = ratio(large.ours, small.ours, rounds=rounds, setup=both)
    return [*found, measurement("inject with dedupe, growth from 10 to 10,000", growth, target="<= 2")]


def _clearing(quick: bool) -> list[Measurement]:
    found = []
    for by in ("dedupe_key", "id"):
        for size in (10, 10_000):
            case = Clearing(size, 200 if quick else 2_000, by)
            rounds = 3 if quick else 15
            value, ours, theirs = ratio(case.ours, case.theirs, rounds=rounds, setup=case.setup)
            total = case.copies * case.keys
            detail = f"{ours / total * 1e6:.2f} us against {theirs / total * 1e6:.2f} us"
            found.append(
                measurement(f"clear by {by}, {size:,} pending", value, target="<= 16", detail=detail)
            )
    return found


class Passing:
    """Pass after pass over one transcript, each with 1 % expiring, and a loop that touches all."""

    def __init__(self, size: int) -> None:
        self.size, self.turn = size, 0
        self.transcript, self.pending = Transcript(), [reminder(0)]

    def setup(self) -> None:
        if self.turn % 50 == 0:
            self.transcript, self.turn = filled(self.size, lambda key: key % 100 + 1), 0
            self.pending = list(self.transcript.pending)

    def ours(self) -> None:
        self.turn += 1
        result = post_turn(self.transcript, self.turn)
        _ = (result.records, result.decremented_count, result.remaining_count)
        self.transcript = result.transcript

    def theirs(self) -> None:
        kept = [replace(r, ttl_turns=r.ttl_turns - 1) for r in self.pending if (r.ttl_turns or 0) > 1]
        self.pending = kept


def _passing(quick: bool) -> Measurement:
    case = Passing(1_000 if quick else 10_000)
    value, ours, theirs = ratio(case.ours, case.theirs, rounds=5 if quick else 50, setup=case.setup)
    detail = f"{ours * 1e3:.2f} ms against {theirs * 1e3:.2f} ms for {case.size:,}, records included"
    return measurement("post-turn pass, 1 % expiring", value, target="<= 0.2", detail=detail)


def run(quick: bool) -> list[Measurement]:
    """All core measurements."""
    return [*_injecting(quick), *_clearing(quick), _passing(quick)]
