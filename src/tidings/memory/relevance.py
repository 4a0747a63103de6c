"""How well a memory fits a question, as a share from 0 to 1: a weighted sum of evidence, squeezed.

Two sets of weights: with similarity, and with words alone. They were fitted on the train part of the
quality benchmark (`benchmarks/memory_fit.py`), the thresholds chosen on train and dev; the test part was
written afterwards and is only reported. A cosine counts by its lead over what several others reach, because
models differ in what is near. What is pinned, fresh, tired or said by an assistant moves the sum a little.
Age never multiplies anything. Pure.
"""

from __future__ import annotations

from math import exp, log, log1p

import msgspec

from tidings.memory.entry import Memory
from tidings.memory.sameness import is_question
from tidings.memory.search import Evidence

DAY = 86_400_000

ASSISTANT = log(0.5)
PINNED = 0.5
FRESH = 0.1
FRESH_DAYS = 90.0
TIRED = 0.1
QUESTION = log(0.4)
"""A memory that is itself a question seldom answers one."""

RELATIVE = 0.35
"""What is this much weaker than the best is left out."""


class Scale(msgspec.Struct, frozen=True, kw_only=True):
    """The weights of one kind of evidence, and the least relevance that is shown."""

    constant: float
    weights: dict[str, float]
    least: float


WORDS = Scale(
    constant=-6.63,
    weights={"coverage": 4.06, "rare": 4.63, "back": 2.0, "bm25": 1.9, "ours": 0.64},
    least=0.22,
)
BOTH = Scale(
    constant=-6.32,
    weights={"coverage": 2.34, "rare": 2.99, "bm25": 0.71, "ours": 0.4, "lead": 6.3, "kin": 1.87},
    least=0.3,
)


def features(evidence: Evidence) -> dict[str, float]:
    """The evidence as numbers of about the same size."""
    found = {
        "coverage": evidence.coverage,
        "rare": min(evidence.rare, 3) / 3,
        "back": evidence.back,
        "bm25": evidence.bm25,
        "ours": float(evidence.ours),
    }
    if evidence.cosine is not None:
        found |= {"lead": evidence.cosine - evidence.crowd, "kin": evidence.kin}
    return found


def scale_of(evidence: Evidence) -> Scale:
    """The scale that fits what is known."""
    return WORDS if evidence.cosine is None else BOTH


def relevance(evidence: Evidence, now: int) -> float:
    """How well the memory fits, 0 to 1."""
    scale = scale_of(evidence)
    found = features(evidence)
    total = scale.constant + sum(weight * found[name] for name, weight in scale.weights.items())
    return 1 / (1 + exp(-total - leaning(evidence.row.memory, now)))


def leaning(memory: Memory, now: int) -> float:
    """What speaks for or against a memory whatever the question."""
    age = max(0, now - memory.created) / DAY
    total = FRESH * exp(-age / FRESH_DAYS) - TIRED * log1p(memory.surfaced)
    if memory.role == "assistant":
        total += ASSISTANT
    if memory.pinned:
        total += PINNED
    if is_question(memory.text):
        total += QUESTION
    return total
