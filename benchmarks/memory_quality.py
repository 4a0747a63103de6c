"""How good the memory's answers are: on texts of our own, with questions that must get silence.

    python -m benchmarks.memory_quality [--part test] [--show] [--fit]

Questions are split into train, dev and test by a hash of what they are about, so that two questions about one
memory are never on both sides. `--fit` fits the weights on train and shows thresholds on train and dev; the
figures that are reported are those of test. Only the memory that was meant counts as right, so precision is a
lower bound.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from statistics import mean

import msgspec

from benchmarks.measure import Measurement, measurement
from tidings.memory.answer import Answer
from tidings.memory.embedding import available
from tidings.memory.relevance import BOTH, WORDS, features
from tidings.memory.store import MemoryStore
from tidings.recall.checks import moment

DATA = Path(__file__).parent / "memory_data"
NOW = moment("2026-05-01")
ASKING = ("direct", "paraphrase", "outdated", "followup")
SILENT = ("small", "off", "elsewhere")
PARTS = (("train", 40), ("dev", 20), ("test", 40))


class Question(msgspec.Struct, frozen=True):
    """One question: the memories that answer it, those that must not be shown, and its part."""

    kind: str
    project: str
    right: tuple[str, ...]
    wrong: tuple[str, ...]
    before: str
    text: str

    @property
    def part(self) -> str:
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
    found = []
    for kind, project, ids, text in rows("questions.tsv"):
        named = [one for one in ids.split(",") if one]
        right = tuple(one for one in named if not one.startswith("!"))
        wrong = tuple(one[1:] for one in named if one.startswith("!"))
        before, _, asked = text.rpartition(" || ")
        found.append(Question(kind, project, right, wrong, before, asked))
    return found


def fill(store: MemoryStore) -> None:
    """Remember everything; the name in the data file becomes the source."""
    for project, name, date, role, text in rows("memories.tsv"):
        home = "" if project == "-" else project
        store.remember(text=text, project=home, created=date, role=role, source=name)
    store.warm_up()


def ask(store: MemoryStore, question: Question) -> Outcome:
    found: Answer = store.answer(question.text, question.history, project=question.project, now=NOW)
    return Outcome(
        question, tuple(one.source for one in found.items), tuple(one.relevance for one in found.items)
    )


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
    return found


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
            MemoryStore(folder / f"{name}.db", embedder=None if name == "words" else "auto", clock=lambda: NOW)
        )
        for name in names
    }
    for store in stores.values():
        fill(store)
    return stores


TARGETS = {"recall@5": ">= 0.6", "silence: all negatives": ">= 0.9", "outdated kept back": ">= 0.9"}


def run(quick: bool = False) -> list[Measurement]:
    """The figures of the test part, by words alone and with similarity; it is quick enough as it is."""
    del quick
    part = [one for one in questions() if one.part == "test"]
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        stores = variants(Path(folder), stack)
        return [
            measurement(
                f"memory {name}: {figure}",
                value,
                unit="",
                target=TARGETS.get(figure, ""),
                detail=f"{count} cases",
            )
            for name, store in stores.items()
            for figure, (value, count) in figures([ask(store, one) for one in part]).items()
        ]


def fit(part: list[Question], stores: dict[str, MemoryStore]) -> None:
    """Print weights fitted on `train` (logistic regression, a little held back) for both scales."""
    import numpy  # the extra brings it

    for name, store in stores.items():
        scale = WORDS if name == "words" else BOTH
        names = list(scale.weights)
        table, right = [], []
        for one in part:
            if one.kind != "unanswerable":
                for found in store.evidence(one.text, one.history, project=one.project):
                    if found.row.memory.source not in one.wrong and (name == "words" or found.cosine is not None):
                        table.append([1.0, *(features(found)[feature] for feature in names)])
                        right.append(float(found.row.memory.source in one.right))
        x, y = numpy.array(table), numpy.array(right)
        held = numpy.diag([0.0] + [0.5] * len(names))
        w = numpy.zeros(x.shape[1])
        for _ in range(50):
            p = 1 / (1 + numpy.exp(-x @ w))
            slope = x.T @ (y - p) - held @ w
            w += numpy.linalg.solve((x * (p * (1 - p))[:, None]).T @ x + held, slope)
        print(name, len(table), "constant", round(w[0], 2), dict(zip(names, w[1:].round(2).tolist(), strict=True)))


def thresholds(part: list[Question], stores: dict[str, MemoryStore]) -> None:
    """Print what each least relevance would give on `part`."""
    from tidings.memory import answer

    for name, store in stores.items():
        for least in (0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5):
            before = answer.scale_of
            answer.scale_of = lambda e, b=before, at=least: msgspec.structs.replace(b(e), least=at)
            found = figures([ask(store, one) for one in part])
            answer.scale_of = before
            chosen = ("recall@5", "precision@1", "precision of all shown", "silence: all negatives")
            print(name, least, *(f"{figure} {found[figure][0]:.2f}" for figure in chosen))


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure the quality of the memory's answers.")
    parser.add_argument("--part", default="test", choices=[name for name, _ in PARTS])
    parser.add_argument("--show", action="store_true", help="print what went wrong, question by question")
    parser.add_argument("--fit", action="store_true", help="fit weights on train, show thresholds on train and dev")
    chosen = parser.parse_args()
    every = questions()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        stores = variants(Path(folder), stack)
        if chosen.fit:
            fit([one for one in every if one.part == "train"], stores)
            thresholds([one for one in every if one.part in ("train", "dev")], stores)
            return 0
        for name, store in stores.items():
            outcomes = [ask(store, one) for one in every if one.part == chosen.part]
            for figure, (value, count) in figures(outcomes).items():
                print(f"{name:<11} {figure:<42} {value:5.2f}  of {count}")
            for one in outcomes if chosen.show else ():
                if set(one.question.right) - set(one.shown) or (not one.question.right and one.shown):
                    print("   ", one.question.kind, one.question.text, one.question.right, one.shown, one.relevance)
    return 0


if __name__ == "__main__":
    sys.exit(main())
