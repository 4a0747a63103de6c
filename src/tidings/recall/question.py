"""The arguments of recall and invalidation, checked: a `Question` or a `Selection`.

Whatever is wrong with them is HARN-FACT-008, and all of it is named at once. `store.py` builds
these before it touches the file.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tidings.errors import DiagnosticError, Problem
from tidings.recall import checks
from tidings.recall.checks import FACT_KINDS, Check, Wrong, diagnose

PREDICATE = "HARN-FACT-008"
MAX_FACTS = 25


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What to recall: the query, and which facts may answer."""

    query: str
    namespace: str
    max_facts: int
    min_confidence: float
    kind_filter: tuple[str, ...]
    now: int


class Selection(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which facts to invalidate: all that is given must match."""

    id: str | None = None
    namespace: str | None = None
    claim: str | None = None
    kind: str | None = None
    tag: str | None = None
    asserted_before: int | None = None


def _query(value: object) -> str:
    if not isinstance(value, str):
        raise Wrong("must be a string; an empty one recalls the newest facts")
    return value


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise Wrong(f"must be a whole number; 0 to {MAX_FACTS} are used")
    return min(max(value, 0), MAX_FACTS)


def _kinds(value: object) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple, set, frozenset)):
        raise Wrong("must be a list of kinds: " + ", ".join(FACT_KINDS))
    return tuple(dict.fromkeys(checks.fact_kind(kind) for kind in value))


def _text(value: object) -> str:
    return checks.text(value, checks.MAX_CLAIM)


QUESTION_FIELDS: dict[str, Check] = {
    "query": _query,
    "namespace": checks.namespace,
    "max_facts": _count,
    "min_confidence": checks.confidence,
    "kind_filter": _kinds,
    "now": checks.moment,
}
SELECTION_FIELDS: dict[str, Check] = {
    "id": _text,
    "namespace": checks.namespace,
    "claim": checks.claim,
    "kind": checks.fact_kind,
    "tag": _text,
    "asserted_before": checks.moment,
}


def build_question(arguments: Mapping[str, object]) -> Question:
    """The question that the arguments ask.

    Raises:
        DiagnosticError: HARN-FACT-008, with every problem.
    """
    return msgspec.convert(_checked("recall_facts", QUESTION_FIELDS, arguments), Question)


def build_selection(arguments: Mapping[str, object]) -> Selection:
    """The selection that the arguments make; at least one must be given.

    Raises:
        DiagnosticError: HARN-FACT-008, with every problem.
    """
    given = {name: value for name, value in arguments.items() if value is not None}
    context = "invalidate_facts"
    if not given:
        fix = f"give at least one of {', '.join(SELECTION_FIELDS)}; nothing was invalidated"
        raise DiagnosticError(context, (Problem(PREDICATE, "", "", fix),))
    return msgspec.convert(_checked(context, SELECTION_FIELDS, given), Selection)


def _checked(
    context: str, fields: Mapping[str, Check], arguments: Mapping[str, object]
) -> dict[str, object]:
    values: dict[str, object] = {}
    problems: list[Problem] = []
    for name, value in arguments.items():
        try:
            values[name] = fields[name](value)
        except Wrong as wrong:
            problems.append(diagnose(PREDICATE, name, value, str(wrong)))
    if problems:
        raise DiagnosticError(context, tuple(problems))
    return values
