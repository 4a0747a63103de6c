"""The linter and the runtime's gate say the same about every literal, because they are the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.core.lifecycle import Selector
from tidings.core.producers import OPTION_FIELDS, ProducerName, build
from tidings.core.reminder import PROPAGATE, ROLE_HINTS
from tidings.core.wire import SPELLING
from tidings.diagnostics.lint import lint_source
from tidings.diagnostics.visible import visible
from tidings.errors import DiagnosticError

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 5),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=8),
    st.sampled_from((*PROPAGATE, *ROLE_HINTS)),
)
values = scalars | st.lists(scalars, max_size=3) | st.tuples(st.text(max_size=3))
ON_THE_WIRE = {"_meta", "mode", "sessionId", "session_id", *SPELLING.values()}
"""Keys that the bridge reads before its gate does; test_rules.py has them."""
keys = st.sampled_from(sorted(OPTION_FIELDS)) | st.text(max_size=6).filter(
    lambda key: key not in ON_THE_WIRE
)
anything = st.dictionaries(keys, values, max_size=6)
reminders = st.fixed_dictionaries(
    {"body": st.text(min_size=1, max_size=20)},
    optional={
        "tags": st.lists(st.text(max_size=4), max_size=2),
        "dedupe_key": st.text(max_size=4) | st.none(),
        "ttl_turns": st.integers(0, 3) | st.none(),
        "preserve_on_compact": st.booleans(),
        "propagate": st.sampled_from((*PROPAGATE, "up")),
        "role_hint": st.sampled_from((*ROLE_HINTS, "user")),
    },
)
SHAPES = ("HARN-RMD-001", "HARN-RMD-002", "HARN-RMD-005", "HARN-RMD-006")


def refused(producer: ProducerName, options: dict[str, object]) -> list[tuple[str, str]]:
    try:
        build(producer, options, id="r")
    except DiagnosticError as error:
        return [(problem.code, visible(problem.message)) for problem in error.problems]
    return []


def found(source: str) -> list[tuple[str, str]]:
    findings = lint_source(source)
    return [(finding.code, finding.message) for finding in findings if finding.code in SHAPES]


SOURCES: dict[ProducerName, str] = {
    "pipeline": "import tidings as td\ntd.inject_reminder(transcript, {options})\n",
    "hook": "register_session_hook('x', lambda e: {{'reminder': {options}}})\n",
    "provider": "register_reminder_provider(id='x', evaluate=lambda c: {{'reminder': {options}}})\n",
    "bridge": "x = {{'method': 'session/remind', 'params': {{'reminder': {options}}}}}\n",
}


@pytest.mark.parametrize("producer", SOURCES)
@given(options=anything | reminders)
def test_the_linter_finds_exactly_what_the_gate_refuses(
    producer: ProducerName, options: dict[str, object]
) -> None:
    source = SOURCES[producer].format(options=repr(options))
    assert sorted(found(source)) == sorted(refused(producer, options))


@given(options=reminders)
def test_keywords_are_judged_like_a_mapping(options: dict[str, object]) -> None:
    words = ", ".join(f"{name}={value!r}" for name, value in options.items())
    assert sorted(found(f"td.inject_reminder(t, {words})")) == sorted(refused("pipeline", options))


@given(st.dictionaries(st.sampled_from(("id", "tag", "dedupe_key", "key")), scalars, max_size=3))
def test_a_selector_is_judged_as_clear_reminders_judges_it(selector: dict[str, object]) -> None:
    try:
        Selector.of(selector)
        problems = []
    except DiagnosticError as error:
        problems = [(problem.code, visible(problem.message)) for problem in error.problems]
    assert sorted(found(f"td.clear_reminders(t, {selector!r})")) == sorted(problems)


@given(options=reminders, hidden=st.sets(st.sampled_from(sorted(OPTION_FIELDS))))
def test_hiding_a_value_never_adds_a_finding(options: dict[str, object], hidden: set[str]) -> None:
    words = ", ".join(
        f"{name}={'elsewhere' if name in hidden else repr(value)}" for name, value in options.items()
    )
    assert set(found(f"td.inject_reminder(t, {words})")) <= set(refused("pipeline", options))


@given(st.text())
def test_no_text_makes_the_linter_fail(text: str) -> None:
    for finding in lint_source(text):
        assert finding.line >= 1
        assert finding.column >= 1
