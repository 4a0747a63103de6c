"""project_facts: recalls what is known about the project and fits it to the task.

The facts come from a `recall` function that the loop hands in (usually `tidings.recall.recall_facts`),
so this page knows nothing of stores or ranking. It makes the query, and the lines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from tidings.agent.providers.pressure import usage
from tidings.agent.providers.quoting import one_line
from tidings.agent.providers.situation import Situation, first, number, text
from tidings.agent.providers.table import TABLE
from tidings.core.reminder import Payload

NAMESPACES = {"project": "project/facts", "workspace": "workspace/facts", "user": "user/facts"}
"""Where a scope keeps its facts."""
DEFAULT_QUERY = "project decisions constraints conventions"
_CLAIM = 500
_EVIDENCE = 3


class Recall(Protocol):
    """What the loop hands in: gives objects with `.fact`, best first; may be async.

    When the config of `project_facts` names a `root`, it is called with that too.
    """

    def __call__(
        self,
        query: str,
        *,
        namespace: str,
        max_facts: int,
        min_confidence: float,
        kind_filter: Sequence[str] | None,
    ) -> object:
        """The facts nearest to `query`."""
        ...


def wanted(situation: Situation) -> Payload | None:
    """The arguments to recall with; None when this event needs no facts."""
    settings = situation.settings
    most = int(number(settings.get("max_facts")) or 0)
    if most < 1 or (situation.event == "on_budget_threshold" and not _is_due(situation)):
        return None
    kinds, root = settings.get("kind_filter"), text(settings.get("root"))
    return {
        "query": _query(situation),
        "namespace": text(settings.get("namespace")) or _namespace(settings.get("scope")),
        "max_facts": most,
        "min_confidence": number(settings.get("min_confidence")) or 0.0,
        "kind_filter": [kind.strip().lower() for kind in kinds]
        if isinstance(kinds, (list, tuple))
        else None,
        **({"root": root} if root else {}),
    }


def project_facts(recalled: object, most: int) -> Payload | None:
    """The reminder that lists the recalled facts; None when there are none."""
    found = list(recalled)[:most] if isinstance(recalled, Sequence) else []
    lines = [_line(getattr(one, "fact", one)) for one in found]
    if not lines:
        return None
    heading = "Known about this project, from earlier sessions (check before relying on it):"
    return TABLE["project_facts"].spec("\n".join((heading, *lines)))


def _is_due(situation: Situation) -> bool:
    known = usage(situation)
    ratio = number(situation.settings.get("refresh_ratio"))
    return known is not None and known[0] >= (0.7 if ratio is None else ratio) * known[1]


def _query(situation: Situation) -> str:
    if asked := text(situation.settings.get("relevance_query")):
        return asked
    places = (situation.payload, situation.session, situation.options)
    task = next((text(place.get("task")) for place in places if text(place.get("task"))), "")
    project = next((text(place.get("project")) for place in places if text(place.get("project"))), "")
    return f"{task} {project}".strip() or DEFAULT_QUERY


def _namespace(scope: object) -> str:
    return NAMESPACES.get(scope, NAMESPACES["project"]) if isinstance(scope, str) else NAMESPACES["project"]


def _line(fact: object) -> str:
    confidence = number(_get(fact, "confidence"))
    sure = f" · confidence {confidence:.2f}" if confidence is not None else ""
    kind = one_line(first(_get(fact, "kind"), "fact"), 40)
    evidence = _get(fact, "evidence")
    given = list(evidence)[:_EVIDENCE] if isinstance(evidence, (list, tuple)) else []
    refs = [f"{_get(item, 'kind')}:{_get(item, 'ref')}" for item in given]
    proof = f" (evidence: {one_line(', '.join(refs), 200)})" if refs else ""
    return f"- [{kind}{sure}] {one_line(_get(fact, 'claim'), _CLAIM)}{proof}"


def _get(value: object, name: str) -> object:
    found = value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
    return getattr(found, "value", found) if not isinstance(found, (str, int, float)) else found
