"""How good the memory's answers are: on texts of our own, with questions that must get silence.

    python -m benchmarks.memory_quality [--part test] [--show]

`questions.tsv` is split into train and dev by a hash of what a question is about; `memory_fit` uses
those, and `pairs.tsv`. `held_out.tsv` is the test part: written when everything was fixed, and only ever
reported. A part that was looked at question by question has become dev, and a new one was written (that
is how "orchard" got there). Every question is asked twice: in its own project, and with the memories of
all projects together. Only the memory that was meant counts as right, so precision is a lower bound.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from statistics import mean

import msgspec

from benchmarks.measure import Measurement, measurement
from tidings.memory.answer import Answer, Budget
from tidings.memory.embedding import available
from tidings.memory.store import MemoryStore
from tidings.recall.checks import moment

DATA = Path(__file__).parent / "memory_data"
NOW = moment("2026-05-01")
UNHURRIED = Budget(deadline_ms=60_000)
"""What is measured is how good answers are, not how busy the machine is."""
ASKING = ("direct", "paraphrase", "outdated", "followup", "seen")
SILENT = ("small", "off", "near", "elsewhere")
TOGETHER = "together"
PARTS = (("train", 60), ("dev", 40))


class Question(msgspec.Struct, frozen=True):
    """One question: the memories that answer it, those that must not be shown, and its part."""

    kind: str
    project: str
    right: tuple[str, ...]
    wrong: tuple[str, ...]
    before: str
    text: str
    held_out: bool = False

    @property
    def part(self) -> str:
        if self.held_out:
            return "test"
        about = f"{self.project} {self.right[0]}" if self.right else self.text
        number = int(sha256(about.encode()).hexdigest(), 16) % 100
        for name, share in PARTS:
            number -= share
            if number < 0:
                return name
        raise AssertionError(number)

    @property
    def history(self) -> list[dict[str, str]]:
        return [{"role": "user", "content": self.before}] if self.before else []


class Outcome(msgspec.Struct, frozen=True):
    """What was shown for a question, best first, as the names of the data file."""

    question: Question
    shown: tuple[str, ...]
    relevance: tuple[float, ...]


def rows(name: str) -> Iterator[list[str]]:
    for line in (DATA / name).read_text().splitlines():
        if line and not line.startswith("#"):
            yield line.split("\t")


def questions() -> list[Question]:
    return _questions("questions.tsv", held_out=False) + _questions("held_out.tsv", held_out=True)


def _questions(name: str, *, held_out: bool) -> list[Question]:
    found = []
    for kind, project, ids, text in rows(name):
        named = [one for one in ids.split(",") if one]
        right = tuple(one for one in named if not one.startswith("!"))
        wrong = tuple(one[1:] for one in named if one.startswith("!"))
        before, _, asked = text.rpartition(" || ")
        found.append(Question(kind, project, right, wrong, before, asked, held_out))
    return found


def fill(store: MemoryStore) -> None:
    """Remember everything, in its project and in the one of all; its name becomes the source."""
    for project, name, date, role, text in (*rows("memories.tsv"), *rows("held_out_memories.tsv")):
        for home in ("",) if project == "-" else (project, TOGETHER):
            store.remember(text=text, project=home, created=date, role=role, source=name)
    places: Counter[str] = Counter()
    for project, name, date, role, text in rows("turns.tsv"):
        places[name] += 1
        turn = {"kind": "turn", "source": f"{name}.{places[name]}", "text": text, "role": role}
        for home in (project, TOGETHER):
            store.remember(turn, project=home, conversation=f"{name} {home}", created=date)
    store.warm_up()


def homes(question: Question) -> tuple[str, ...]:
    """Where a question is asked; what belongs elsewhere has no answer in its own project alone."""
    return (question.project,) if question.kind == "elsewhere" else (question.project, TOGETHER)


def ask(store: MemoryStore, question: Question, project: str) -> Outcome:
    found: Answer = store.answer(
        question.text, question.history, budget=UNHURRIED, project=project, now=NOW
    )
    return Outcome(
        question, tuple(one.source for one in found.items), tuple(one.relevance for one in found.items)
    )


def ask_all(store: MemoryStore, part: list[Question], apart: bool | None = None) -> list[Outcome]:
    """Every question of a part, in all its homes; or only in its own project, or only together."""
    return [
        ask(store, one, home)
        for one in part
        for home in homes(one)
        if apart is None or apart == (home != TOGETHER)
    ]


def figures(outcomes: list[Outcome]) -> dict[str, tuple[float, int]]:
    """Each figure with the number of questions it stands on."""
    asking = [one for one in outcomes if one.question.kind in ASKING]
    answered = [one for one in asking if one.shown]
    outdated = [one for one in asking if one.question.wrong]
    hits = [bool(set(one.shown) & set(one.question.right)) for one in asking]
    first = [one.shown[0] in one.question.right for one in answered]
    exact = [_share(one) for one in answered]
    found = {"recall@5": _mean(hits), "precision@1": _mean(first), "precision of all shown": _mean(exact)}
    for kind in SILENT:
        found[f"silence: {kind}"] = _mean([not o.shown for o in outcomes if o.question.kind == kind])
    found["silence: all negatives"] = _mean([not o.shown for o in outcomes if o.question.kind in SILENT])
    found["outdated kept back"] = _mean([not set(o.shown) & set(o.question.wrong) for o in outdated])
    found["newest shown instead"] = _mean([bool(set(o.shown) & set(o.question.right)) for o in outdated])
    found["recall@5: paraphrase"] = _mean(
        [hit for hit, o in zip(hits, asking, strict=True) if o.question.kind == "paraphrase"]
    )
    shown = [
        (r, s in o.question.right) for o in outcomes for r, s in zip(o.relevance, o.shown, strict=True)
    ]
    found["calibration error"] = (_calibration(shown), len(shown))
    found["silence: answer not stored (not a target)"] = _mean(
        [not o.shown for o in outcomes if o.question.kind == "unanswerable"]
    )
    return {figure: one for figure, one in found.items() if one[1]}


def _share(outcome: Outcome) -> float:
    return sum(one in outcome.question.right for one in outcome.shown) / len(outcome.shown)


def _mean(values: list[bool] | list[float]) -> tuple[float, int]:
    return (mean(values) if values else 0.0, len(values))


def _calibration(shown: list[tuple[float, bool]]) -> float:
    """How far relevance is from the share that was right, on average over five bands."""
    bands = [[one for one in shown if low <= one[0] < low + 0.2] for low in (0.0, 0.2, 0.4, 0.6, 0.8)]
    gaps = [abs(mean(r for r, _ in b) - mean(ok for _, ok in b)) * len(b) for b in bands if b]
    return sum(gaps) / len(shown) if shown else 0.0


def variants(folder: Path, stack: ExitStack) -> dict[str, MemoryStore]:
    names = ["words", "similarity"] if available() else ["words"]
    stores = {
        name: stack.enter_context(
            MemoryStore(
                folder / f"{name}.db", embedder=None if name == "words" else "auto", clock=lambda: NOW
            )
        )
        for name in names
    }
    for store in stores.values():
        fill(store)
    return stores


TARGETS = {"recall@5": ">= 0.6", "silence: all negatives": ">= 0.8", "outdated kept back": ">= 0.8"}
LAYOUTS = {"own project": True, "together": False}


def run(quick: bool = False) -> list[Measurement]:
    """The figures of the test part, by words alone and with similarity; it is quick enough as it is."""
    del quick
    part = [one for one in questions() if one.part == "test"]
    found: list[Measurement] = []
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        for name, store in variants(Path(folder), stack).items():
            for layout, apart in LAYOUTS.items():
                for figure, (value, count) in figures(ask_all(store, part, apart)).items():
                    label, target = f"memory, {name}, {layout}: {figure}", TARGETS.get(figure, "")
                    found.append(measurement(label, value, unit="", target=target, detail=f"of {count}"))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure the quality of the memory's answers.")
    parser.add_argument("--part", default="test", choices=("train", "dev", "test"))
    parser.add_argument("--show", action="store_true", help="print what went wrong, question by question")
    chosen = parser.parse_args()
    part = [one for one in questions() if one.part == chosen.part]
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        for name, store in variants(Path(folder), stack).items():
            for layout, apart in LAYOUTS.items():
                outcomes = ask_all(store, part, apart)
                for figure, (value, count) in figures(outcomes).items():
                    print(f"{name:<11} {layout:<12} {figure:<42} {value:5.2f}  of {count}")
                for one in outcomes if chosen.show else ():
                    asked = one.question
                    if set(asked.right) - set(one.shown) or (not asked.right and one.shown):
                        print("   ", asked.kind, asked.text, asked.right, one.shown, one.relevance)
    return 0


if __name__ == "__main__":
    sys.exit(main())
