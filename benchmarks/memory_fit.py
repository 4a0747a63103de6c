"""Fit the weights of `tidings.memory.relevance` on train, and see what thresholds give on train and dev.

    python -m benchmarks.memory_fit

Prints what to write there; changes nothing. The test part is not touched.
"""

from __future__ import annotations

import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

import msgspec
import numpy

from benchmarks.memory_quality import Question, ask_all, figures, homes, questions, variants
from tidings.memory import relevance
from tidings.memory.relevance import BOTH, WORDS, Scale, features
from tidings.memory.store import MemoryStore

HELD = 0.5
"""How strongly weights are held back."""

ROUNDS = 50
SHOWN = ("recall@5", "precision@1", "outdated kept back", "silence: all negatives")


def fit(part: list[Question], stores: dict[str, MemoryStore]) -> dict[str, Scale]:
    """Weights by logistic regression (Newton's method) on every memory that was weighed."""
    scales = {}
    for name, store in stores.items():
        scale = WORDS if name == "words" else BOTH
        table, right = examples(part, store, list(scale.weights))
        x, y = numpy.array(table), numpy.array(right)
        held = numpy.diag([0.0] + [HELD] * len(scale.weights))
        w = numpy.zeros(x.shape[1])
        for _ in range(ROUNDS):
            p = 1 / (1 + numpy.exp(-x @ w))
            slope = x.T @ (y - p) - held @ w
            w += numpy.linalg.solve((x * (p * (1 - p))[:, None]).T @ x + held, slope)
        constant, *weights = w.round(2).tolist()
        weighed = dict(zip(scale.weights, weights, strict=True))
        scales[name] = Scale(constant=constant, weights=weighed, least=scale.least)
        print(name, len(table), scales[name])
    return scales


def examples(
    part: list[Question], store: MemoryStore, names: list[str]
) -> tuple[list[list[float]], list[float]]:
    """Every memory that was weighed for a question, as numbers, and whether it was the one meant."""
    table, right = [], []
    for one in part:
        for home in homes(one) if one.kind != "unanswerable" else ():
            for found in store.evidence(one.text, one.history, project=home):
                known = features(found)
                if found.row.memory.source not in one.wrong and all(name in known for name in names):
                    table.append([1.0, *(known[name] for name in names)])
                    right.append(float(found.row.memory.source in one.right))
    return table, right


def thresholds(part: list[Question], stores: dict[str, MemoryStore], scales: dict[str, Scale]) -> None:
    """Print what each least relevance would give on `part`."""
    for name, store in stores.items():
        for least in (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5):
            scale = msgspec.structs.replace(scales[name], least=least)
            setattr(relevance, "WORDS" if name == "words" else "BOTH", scale)
            for apart in (True, False):
                found = figures(ask_all(store, part, apart))
                told = "  ".join(f"{figure} {found[figure][0]:.2f}" for figure in SHOWN)
                print(f"{name:<11} {least:.2f} {'apart' if apart else 'together':<9} {told}")


def main() -> int:
    every = questions()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        stores = variants(Path(folder), stack)
        scales = fit([one for one in every if one.part == "train"], stores)
        thresholds([one for one in every if one.part != "test"], stores, scales)
    return 0


if __name__ == "__main__":
    sys.exit(main())
