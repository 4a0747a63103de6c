"""The nine HARN-FACT codes of facts (harn.fact.v1), as data. Read through `catalogue.py`.

Each belongs to one field of `store_fact`, but for 001, which is about the whole, and 008, which is about
the questions. What each field takes is decided in `tidings.recall.checks`; the linter does not look
at facts.
"""

from __future__ import annotations

from tidings.diagnostics.entry import Diagnostic


def _about(number: int, section: str, **words: str) -> Diagnostic:
    """One entry: every code of this family is an error, told when the function is called."""
    code = f"HARN-FACT-{number:03d}"
    return Diagnostic(code=code, severity="error", reported_by=("runtime",), section=section, **words)


FACTS: tuple[Diagnostic, ...] = (
    _about(
        1,
        'facts, "Fields"',
        title="unknown key or wrong shape of a fact",
        meaning=(
            "`store_fact` was given a key that does not exist, a `schema`, `namespace` or `tags` that "
            "cannot be read, or something that is no mapping. Nothing was stored."
        ),
        example="""\
td.store_fact(kind="decision", claim="Releases are cut on Mondays.", confidence=0.9, tag="release")
""",
        fix=(
            "Use the documented keys and types; the error names the nearest key for a misspelt one. Leave "
            "`id` out: it follows from kind, claim, evidence and provenance."
        ),
        fixed="""\
td.store_fact(kind="decision", claim="Releases are cut on Mondays.", confidence=0.9, tags=["release"])
""",
    ),
    _about(
        2,
        'facts, "Fields"',
        title="unknown kind of fact",
        meaning=(
            "`kind` is missing or none of the five: observation, claim, hypothesis, decision, constraint. "
            "Nothing was stored."
        ),
        example="""\
td.store_fact(kind="rumour", claim="The cache is shared between runs.", confidence=0.3)
""",
        fix="Choose the nearest of the five; what is only suspected is a hypothesis.",
        fixed="""\
td.store_fact(kind="hypothesis", claim="The cache is shared between runs.", confidence=0.3)
""",
    ),
    _about(
        3,
        'facts, "Fields"',
        title="fact without a usable claim",
        meaning=(
            "`claim` is missing, blank, no string, not valid Unicode, or longer than 10,000 characters. "
            "Nothing was stored."
        ),
        example="""\
td.store_fact(kind="constraint", claim="  ", confidence=1)
""",
        fix="Say in a sentence what is so; keep long material in a file and name it as evidence.",
        fixed="""\
td.store_fact(kind="constraint", claim="Python 3.11 must keep working.", confidence=1)
""",
    ),
    _about(
        4,
        'facts, "Fields"',
        title="confidence that is no share",
        meaning="`confidence` is missing or no number from 0 to 1. Nothing was stored.",
        example="""\
td.store_fact(kind="observation", claim="The login test is flaky.", confidence=80)
""",
        fix="Give a share: 0 is a guess, 1 is certain. 80 percent are 0.8.",
        fixed="""\
td.store_fact(kind="observation", claim="The login test is flaky.", confidence=0.8)
""",
    ),
    _about(
        5,
        'facts, "Fields"',
        title="malformed evidence",
        meaning=(
            "`evidence` is no list, or an item of it is not an object of exactly `kind` and `ref`, or its "
            "kind is none of trace_ref, file_range, tool_output, user_input. Nothing was stored."
        ),
        example="""\
td.store_fact(
    kind="decision", claim="SIGINT cancels tools first.", confidence=0.9, evidence="src/cancel.py:1"
)
""",
        fix="Give a list of objects, each with a known kind and where to find it.",
        fixed="""\
td.store_fact(
    kind="decision",
    claim="SIGINT cancels tools first.",
    confidence=0.9,
    evidence=[{"kind": "file_range", "ref": "src/cancel.py:1"}],
)
""",
    ),
    _about(
        6,
        'facts, "Fields"',
        title="provenance that is no JSON object",
        meaning=(
            "`provenance` says who asserted the fact, as an object of your own shape. It is something "
            "else, or holds what JSON cannot write, or is nested more than 32 deep. Nothing was stored."
        ),
        example="""\
td.store_fact(kind="claim", claim="The API is stable.", confidence=0.6, provenance="planner")
""",
        fix="Give an object with string keys and JSON values.",
        fixed="""\
td.store_fact(kind="claim", claim="The API is stable.", confidence=0.6, provenance={"agent": "planner"})
""",
    ),
    _about(
        7,
        'facts, "Fields"',
        title="unreadable end of a fact",
        meaning="`valid_until` is neither ISO 8601 nor milliseconds since 1970. Nothing was stored.",
        example="""\
td.store_fact(kind="constraint", claim="Main is frozen.", confidence=1, valid_until="next Monday")
""",
        fix="Write the moment out; without an offset it is UTC. Leave it out for a fact without an end.",
        fixed="""\
td.store_fact(
    kind="constraint", claim="Main is frozen.", confidence=1, valid_until="2099-01-05T09:00:00Z"
)
""",
    ),
    _about(
        8,
        'facts, "Functions"',
        title="question that cannot be asked of the facts",
        meaning=(
            "An argument of `recall_facts` or `invalidate_facts` has the wrong type or value, or "
            "`invalidate_facts` was given nothing at all, which would have taken back everything."
        ),
        example="""\
td.recall_facts("release day", kind_filter=["rumour"])
""",
        fix="Use the documented arguments; `invalidate_facts` needs at least one.",
        fixed="""\
td.recall_facts("release day", kind_filter=["decision", "constraint"])
""",
    ),
    _about(
        9,
        'facts, "Fields"',
        title="unreadable time of assertion",
        meaning="`asserted_at` is neither ISO 8601 nor milliseconds since 1970. Nothing was stored.",
        example="""\
td.store_fact(kind="observation", claim="CI took 40 minutes.", confidence=1, asserted_at="yesterday")
""",
        fix="Write the moment out; without an offset it is UTC. Leave it out for now.",
        fixed="""\
td.store_fact(
    kind="observation", claim="CI took 40 minutes.", confidence=1, asserted_at="2026-02-03T08:00:00Z"
)
""",
    ),
)
