"""A fact: a claim, how sure someone is of it, and what it rests on. The reference's harn.fact.v1.

`build_fact` is the only gate: options become a `Fact`, or every problem is named at once with its
HARN-FACT code. The id follows from kind, claim, evidence and provenance alone, so that asserting
the same thing again gives the same id. Values only: `store.py` keeps them.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from hashlib import sha256

import msgspec

from tidings.core.producers import shorten, shown
from tidings.errors import DiagnosticError, Problem
from tidings.recall import checks
from tidings.recall.checks import Check, EvidenceKind, FactKind, Wrong, diagnose

SCHEMA = "harn.fact.v1"
DEFAULT_NAMESPACE = "project/facts"
CONTEXT = "store_fact"
_INPUT = "HARN-FACT-001"


class Evidence(msgspec.Struct, frozen=True):
    """One thing that a fact rests on: its kind, and where to find it."""

    kind: EvidenceKind
    ref: str


class Fact(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag=SCHEMA):
    """One stored fact; times are milliseconds since the epoch."""

    id: str
    kind: FactKind
    claim: str
    confidence: float
    asserted_at: int
    evidence: tuple[Evidence, ...] = ()
    provenance: dict[str, object] = {}
    valid_until: int | None = None
    namespace: str = DEFAULT_NAMESPACE
    tags: tuple[str, ...] = ()


class Field(msgspec.Struct, frozen=True):
    """One option of `store_fact`: its check, its code, and whether it may be left out."""

    name: str
    check: Check
    code: str
    required: bool = False


def _schema(value: object) -> str:
    return checks.one_of(value, (SCHEMA,))


FIELDS: tuple[Field, ...] = (
    Field("schema", _schema, _INPUT),
    Field("kind", checks.fact_kind, "HARN-FACT-002", required=True),
    Field("claim", checks.claim, "HARN-FACT-003", required=True),
    Field("confidence", checks.confidence, "HARN-FACT-004", required=True),
    Field("evidence", checks.evidence, "HARN-FACT-005"),
    Field("provenance", checks.provenance, "HARN-FACT-006"),
    Field("valid_until", checks.moment, "HARN-FACT-007"),
    Field("asserted_at", checks.moment, "HARN-FACT-009"),
    Field("namespace", checks.namespace, _INPUT),
    Field("tags", checks.tags, _INPUT),
)
KNOWN = tuple(field.name for field in FIELDS)


def build_fact(options: Mapping[str, object], *, now: int) -> Fact:
    """The fact that `options` describe; `now` is when it is asserted unless they say.

    Raises:
        DiagnosticError: with every problem, `.code` being the first in field order.
    """
    values: dict[str, object] = {"asserted_at": now, **_checked(options)}
    values.pop("schema", None)
    return msgspec.convert({**values, "id": fact_id(values), "schema": SCHEMA}, Fact)


def fact_id(values: Mapping[str, object]) -> str:
    """The id of checked values: the same content has the same id, whenever it is asserted."""
    lines = (
        str(values["kind"]).encode(),
        str(values["claim"]).encode(),
        canonical(values.get("evidence", ())),
        canonical(values.get("provenance", {})),
    )
    return "fact_" + sha256(b"\n".join(lines)).hexdigest()[:32]


def canonical(value: object) -> bytes:
    """JSON with sorted keys and no white space."""
    return msgspec.json.encode(value, order="sorted")


def line(fact: Fact) -> str:
    """The fact as one line of a reminder."""
    rests = ", ".join(f"{item.kind}:{item.ref}" for item in fact.evidence)
    tail = f" (evidence: {rests})" if rests else ""
    said = " ".join(fact.claim.split())
    return f"- [{fact.kind} · confidence {fact.confidence:.2f}] {said}{tail}"


def _checked(options: object) -> dict[str, object]:
    if not isinstance(options, Mapping):
        problem = Problem(_INPUT, "", shown(options), f"must be an object, not {shown(options)}")
        raise DiagnosticError(CONTEXT, (problem,))
    values: dict[str, object] = {}
    problems: list[Problem] = []
    for field in FIELDS:
        value = options.get(field.name)
        if value is None and not field.required:
            continue
        try:
            values[field.name] = field.check(value)
        except Wrong as wrong:
            problems.append(diagnose(field.code, field.name, value, str(wrong)))
    problems += [_unknown(name) for name in sorted(map(str, options)) if name not in KNOWN]
    if problems:
        raise DiagnosticError(CONTEXT, tuple(problems))
    return values


def _unknown(name: str) -> Problem:
    near = get_close_matches(name, KNOWN, n=1)
    fix = f"did you mean `{near[0]}`?" if near else f"known keys are {', '.join(KNOWN)}"
    if name == "id":
        fix = "leave it out: the id follows from kind, claim, evidence and provenance"
    return Problem(_INPUT, name, "", f"unknown key `{shorten(name)}`; {fix}")
