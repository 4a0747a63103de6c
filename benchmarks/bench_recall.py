"""How much CPU recalling a fact takes at the 99th percentile, by size of the store.

Facts of 8 to 21 words from a zipf vocabulary, questions of 8 words from the same; min_confidence
as by default. CPU time of the whole process, so that threads count. tantivy is measured when the
`tidings[recall]` extra is installed.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from itertools import accumulate
from pathlib import Path
from statistics import median

from benchmarks.measure import Measurement, cpu, measurement
from tidings.recall.store import FactStore
from tidings.recall.tantivy_index import available

KINDS = ("observation", "claim", "hypothesis", "decision", "constraint")
VOCABULARY = [f"word{number}" for number in range(20_000)]
WEIGHTS = list(accumulate(1 / (rank + 1) for rank in range(len(VOCABULARY))))
BATCH = 5_000


def draw(chance: random.Random, count: int) -> str:
    return " ".join(chance.choices(VOCABULARY, cum_weights=WEIGHTS, k=count))


def facts(chance: random.Random, count: int) -> Iterator[dict[str, object]]:
    for number in range(count):
        yield {
            "kind": KINDS[number % len(KINDS)],
            "claim": draw(chance, chance.randint(8, 21)),
            "confidence": chance.uniform(0.4, 1),
            "asserted_at": 1_700_000_000_000 + number,
        }


def fill(store: FactStore, count: int) -> float:
    """Store `count` facts in batches; gives the CPU seconds it took."""
    chance, start = random.Random(count), time.process_time()
    made = list(facts(chance, count))
    for at in range(0, count, BATCH):
        store.store_facts(made[at : at + BATCH])
    return time.process_time() - start


def percentiles(store: FactStore, questions: list[str]) -> tuple[float, float]:
    """Median and 99th percentile of the CPU milliseconds per question: medians of three rounds."""
    rounds = [_round(store, questions) for _ in range(3)]
    return median(middle for middle, _ in rounds), median(high for _, high in rounds)


def _round(store: FactStore, questions: list[str]) -> tuple[float, float]:
    for question in questions[:20]:
        store.recall_facts(question)
    taken = sorted(cpu(partial(store.recall_facts, question)) * 1e3 for question in questions)
    return taken[len(taken) // 2], taken[int(len(taken) * 0.99)]


def _measure(name: str, store: FactStore, questions: list[str], target: str) -> Measurement:
    middle, high = percentiles(store, questions)
    detail = f"median {middle:.2f} ms, {len(questions)} questions"
    return measurement(name, high, unit="ms", target=target, detail=detail)


def _store_one(store: FactStore, count: int) -> Measurement:
    """Storing one fact durably, in the store that is full already."""
    made = list(facts(random.Random(7), count))
    start = time.process_time()
    for one in made:
        store.store_fact(one)
    return measurement("store one fact, CPU", (time.process_time() - start) / count * 1e3, unit="ms")


def _at(size: int, target: str, count: int, directory: Path) -> Iterator[Measurement]:
    chance = random.Random(size + 1)
    questions = [draw(chance, 8) for _ in range(count)]
    path = directory / f"{size}.db"
    with FactStore(path, index="fts5") as store:
        fill(store, size)
        yield _measure(f"recall p99, {size:,} facts, FTS5", store, questions, target)
        yield _store_one(store, 20 if count < 100 else 200)
    if not available():
        return
    with FactStore(path, index_above=size // 2) as store:
        store.recall_facts(questions[0])
        if not store.settle():
            raise TimeoutError(f"the derived index of {size:,} facts was not built within a minute")
        target = "<= 3" if size >= 100_000 else ""
        yield _measure(f"recall p99, {size:,} facts, tantivy", store, questions, target)


def run(quick: bool) -> list[Measurement]:
    """All measurements; `quick` uses a small store and few questions."""
    sizes = ((2_000, "<= 5"),) if quick else ((10_000, "<= 5"), (100_000, "<= 50"))
    count = 40 if quick else 500
    with tempfile.TemporaryDirectory() as directory:
        return [one for size, target in sizes for one in _at(size, target, count, Path(directory))]


if __name__ == "__main__":
    for one in run(quick=False):
        print(f"{one.name:<44} {one.value:8.2f} {one.unit}  {one.target:<6} {one.met}  {one.detail}")
