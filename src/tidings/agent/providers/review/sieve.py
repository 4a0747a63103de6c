"""A cheap look before the thorough one: whether a payload has any field that holds structured evidence.

Most results have none, and are then not searched for verifier signals and diagnostics. It looks wherever
those searches look, so that nothing they would find is missed. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tidings.agent.providers.review import runtime, structured

EVIDENCE = frozenset((*structured.KEYS, *runtime.SIGNALS))
"""The names of the fields that hold evidence."""

_DEEPEST = max(structured.DEPTH, runtime.DEPTH)
_PLAIN = frozenset((str, int, float, bool, bytes, type(None)))
"""What holds no field, told by its exact type: quicker than asking what it is an instance of."""


def holds_evidence(value: object, depth: int = 0) -> bool:
    """Whether some field of `EVIDENCE` stands in `value`, as deep as anybody looks."""
    if depth > _DEEPEST:
        return False
    if isinstance(value, (dict, Mapping)):
        if not EVIDENCE.isdisjoint(value):
            return True
        inside: Iterable[object] = value.values()
    elif isinstance(value, (list, tuple)):
        inside = value
    else:
        return False
    if _PLAIN.issuperset(map(type, inside)):
        return False
    return any(holds_evidence(item, depth + 1) for item in inside if type(item) not in _PLAIN)
