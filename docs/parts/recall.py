"""The fields of a fact and their codes: for facts.md."""

from __future__ import annotations

from docs.parts.markdown import table
from tidings.recall.checks import EVIDENCE_KINDS, FACT_KINDS, MAX_CLAIM, MAX_NAMESPACE
from tidings.recall.fact import DEFAULT_NAMESPACE, FIELDS, SCHEMA
from tidings.recall.question import PREDICATE

WORDS: dict[str, str] = {
    "schema": f"`{SCHEMA}`, or left out",
    "kind": f"one of {', '.join(FACT_KINDS)}; case and word joints do not matter",
    "claim": f"what is so, in words; at most {MAX_CLAIM:,} characters",
    "confidence": "0 (a guess) to 1 (certain)",
    "evidence": f"a list of `{{kind, ref}}`; kinds: {', '.join(EVIDENCE_KINDS)}",
    "provenance": "who asserted it: a JSON object of your own shape",
    "valid_until": "when it is over: ISO 8601, or milliseconds since 1970",
    "asserted_at": "when it was said; now, unless given",
    "namespace": f"its shelf, at most {MAX_NAMESPACE} characters; `{DEFAULT_NAMESPACE}` unless given",
    "tags": "a list of strings",
}


def fact_fields() -> str:
    """The options of `store_fact`."""
    rows = [(f"`{f.name}`", "yes" if f.required else "", WORDS[f.name], f"`{f.code}`") for f in FIELDS]
    return table(("field", "required", "value", "code when wrong"), rows)


def fact_codes() -> str:
    """Every code, with what it is about."""
    about: dict[str, list[str]] = {}
    for field in FIELDS:
        about.setdefault(field.code, []).append(f"`{field.name}`")
    about["HARN-FACT-001"] += ["an unknown key", "something that is no mapping"]
    about[PREDICATE] = ["any argument of `recall_facts` or `invalidate_facts`"]
    rows = [(f"`{name}`", ", ".join(words)) for name, words in sorted(about.items())]
    return table(("code", "wrong is"), rows)
