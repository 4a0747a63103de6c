"""Fit the weights of `tidings.memory.relevance` on train, and see what thresholds give on train and dev.

    python -m benchmarks.memory_fit

Prints what to write there; changes nothing. The test part is not touched. `pairs.tsv` says which statements
put which out of force; the rules of `tidings.memory.sameness` were chosen on it.
"""

from __future__ import annotations

import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from statistics import mean

import msgspec
import numpy

from benchmarks.memory_quality import (
    NOW,
    UNHURRIED,
    Question,
    ask_all,
    figures,
    homes,
    questions,
    rows,
    variants,
)
from tidings.memory import relevance
from tidings.memory.relevance import BOTH, WORDS, Scale, features
from tidings.memory.store import EmbedderChoice, MemoryStore

HELD = 0.5
"""How strongly weights are held back."""

ROUNDS = 50
SILENT_ENOUGH = 0.94
"""The share of negatives of train and dev, mean of both layouts, that the threshold must keep silent."""
PROJECTS = 10
"""Among how many projects the pairs are divided: the others of a project are noise."""
EMBEDDERS: dict[str, EmbedderChoice] = {"words": None, "similarity": "auto"}
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
            for found in store.evidence(one.text, one.history, project=home, budget=UNHURRIED):
                known = features(found)
                if found.row.memory.source not in one.wrong and all(name in known for name in names):
                    table.append([1.0, *(known[name] for name in names)])
                    right.append(float(found.row.memory.source in one.right))
    return table, right


def thresholds(part: list[Question], stores: dict[str, MemoryStore], scales: dict[str, Scale]) -> None:
    """Print what each least relevance would give on `part`, and the first that is silent enough."""
    for name, store in stores.items():
        chosen = False
        for least in (step / 100 for step in range(10, 41, 2)):
            scale = msgspec.structs.replace(scales[name], least=least)
            setattr(relevance, "WORDS" if name == "words" else "BOTH", scale)
            found = {apart: figures(ask_all(store, part, apart)) for apart in (True, False)}
            silence = mean(each["silence: all negatives"][0] for each in found.values())
            mark = "" if chosen or silence < SILENT_ENOUGH else "  <- least"
            chosen = chosen or bool(mark)
            for apart, each in found.items():
                told = "  ".join(f"{figure} {each[figure][0]:.2f}" for figure in SHOWN)
                print(f"{name:<11} {least:.2f} {'apart' if apart else 'together':<9} {told}{mark}")


def pairs(folder: Path) -> None:
    """Print how often a newer statement is shown in an older one's place, and how often wrongly."""
    for name, embedder in EMBEDDERS.items():
        seen: dict[str, list[bool]] = {"newer shown": [], "older kept back": [], "other shown": []}
        with MemoryStore(folder / f"pairs-{name}.db", embedder=embedder, clock=lambda: NOW) as store:
            told = list(rows("pairs.tsv"))
            for number, (kind, older, newer, _) in enumerate(told):
                home = f"{kind} {number % PROJECTS}"
                store.remember(text=older, project=home, created="2025-06-01", source=f"{number} older")
                store.remember(text=newer, project=home, created="2026-02-01", source=f"{number} newer")
            store.warm_up()
            for number, (kind, _, _, question) in enumerate(told):
                home = f"{kind} {number % PROJECTS}"
                found = store.answer(question, budget=UNHURRIED, project=home, now=NOW)
                shown = {item.source for item in found.items}
                if kind == "same":
                    seen["newer shown"].append(f"{number} newer" in shown)
                    seen["older kept back"].append(f"{number} older" not in shown)
                else:
                    seen["other shown"].append(f"{number} older" in shown)
        print(f"pairs, {name}:", {figure: round(mean(found), 2) for figure, found in seen.items()})


def main() -> int:
    every = questions()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        pairs(Path(folder))
        stores = variants(Path(folder), stack)
        scales = fit([one for one in every if one.part == "train"], stores)
        thresholds([one for one in every if one.part != "test"], stores, scales)
    return 0


if __name__ == "__main__":
    sys.exit(main())
