"""How much CPU an answer of the memory takes, by size, with and without similarity; and how good it is.

Memories of 8 to 21 words from a zipf vocabulary, questions of 8 words from the same. CPU time of the whole
process, so that the embedder's thread counts. Similarity is measured when the `memory` extra is installed.
The quality is that of `memory_quality`, on texts of our own.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import median

import msgspec

from benchmarks import memory_quality
from benchmarks.bench_recall import draw
from benchmarks.measure import Measurement, cpu, measurement
from benchmarks.starting import TIDINGS, starts
from tidings.memory.embedding import available
from tidings.memory.store import EmbedderChoice, MemoryStore
from tidings.memory.transfer import import_lines

TARGETS = {2_000: "<= 20", 10_000: "<= 20", 100_000: ""}
BATCH = 5_000
NOW = 1_750_000_000_000


def fill(store: MemoryStore, count: int) -> float:
    """Import `count` memories; gives the CPU seconds it took."""
    chance, start = random.Random(count), time.process_time()
    for first in range(0, count, BATCH):
        lines = [_line(chance, number) for number in range(first, min(first + BATCH, count))]
        import_lines(store, lines)
    return time.process_time() - start


def _line(chance: random.Random, number: int) -> bytes:
    said = draw(chance, chance.randint(8, 21))
    return msgspec.json.encode({"text": said, "created": NOW + number, "id": f"m{number}"})


def _round(store: MemoryStore, questions: list[str]) -> tuple[float, float]:
    for question in questions[:20]:
        store.answer(question)
    taken = sorted(cpu(partial(store.answer, question)) * 1e3 for question in questions)
    return taken[len(taken) // 2], taken[int(len(taken) * 0.99)]


def _at(size: int, count: int, folder: Path, embedder: EmbedderChoice) -> Iterator[Measurement]:
    chance = random.Random(size + 1)
    questions = [draw(chance, 8) for _ in range(count)]
    name = "words" if embedder is None else "similarity"
    with MemoryStore(folder / f"{size}-{name}.db", embedder=embedder, clock=lambda: NOW) as store:
        filling = fill(store, size) / size * 1e3
        store.warm_up()
        # each question twice would find its vector kept: every round asks anew
        rounds = [_round(store, [f"{one} {turn}" for one in questions]) for turn in range(3)]
        middle, high = (median(one[at] for one in rounds) for at in (0, 1))
        detail = f"median {middle:.2f} ms, {count} questions; importing one took {filling:.2f} ms"
        label = f"memory answer p99, {size:,} memories, {name}"
        yield measurement(label, high, unit="ms", target=TARGETS[size], detail=detail)
        yield _remember_one(store, 10 if count < 100 else 100, name)


def _remember_one(store: MemoryStore, count: int, name: str) -> Measurement:
    """Remembering one thing durably, in the store that is full already."""
    chance, start = random.Random(7), time.process_time()
    for number in range(count):
        store.remember(text=draw(chance, 14), created=NOW + 10**6 + number)
    taken = (time.process_time() - start) / count * 1e3
    return measurement(f"remember one, CPU, {name}", taken, unit="ms")


def _starts(rounds: int, folder: Path) -> list[Measurement]:
    """The server, with a memory that has something in it; with similarity it also loads the embedding."""
    with MemoryStore(folder / "start.db") as store:
        fill(store, 100)
    command = [*TIDINGS, "memory", "serve", "--file", str(folder / "start.db")]
    return starts({"memory serve": command}, rounds, {"memory serve": "<= 2.5"})


def run(quick: bool) -> list[Measurement]:
    """All measurements; `quick` uses a small store and few questions."""
    sizes = (2_000,) if quick else (10_000, 100_000)
    count = 40 if quick else 300
    embedders: tuple[EmbedderChoice, ...] = (None, "auto") if available() else (None,)
    with tempfile.TemporaryDirectory() as folder:
        speed = [
            one
            for size in sizes
            for embedder in embedders
            for one in _at(size, count, Path(folder), embedder)
        ]
        started = _starts(1 if quick else 7, Path(folder))
    return speed + started + memory_quality.run()


if __name__ == "__main__":
    for one in run(quick=False):
        print(f"{one.name:<58} {one.value:8.2f} {one.unit:<3} {one.target:<7} {one.met}  {one.detail}")
