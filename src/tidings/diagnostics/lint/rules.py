"""The rules: what is wrong with a spec or a selection, as marks. Each rule is one function.

Shapes are not judged here a second time: the literal values go through the runtime's own gate
(`core.producers.build`, `Selector.of`), and its problems become marks. Values that are not
literal go in as absent, and a body that may still come is never missed.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from tidings.core.lifecycle import Selector
from tidings.core.producers import OPTION_FIELDS, build
from tidings.core.text import neutralise
from tidings.diagnostics.lint.concealment import concealing_phrase
from tidings.diagnostics.lint.literal import UNKNOWN, Options, text_of, value_of
from tidings.diagnostics.lint.names import Names
from tidings.diagnostics.lint.sites import Selection
from tidings.diagnostics.lint.source import Mark
from tidings.diagnostics.lint.spec import Spec
from tidings.errors import DiagnosticError, Problem

_ENDLESS = (
    "no ttl_turns and preserve_on_compact is False: it stays for every turn and vanishes at the "
    "next compaction; set a ttl_turns, or preserve_on_compact=True"
)
_WORKER = "worker events take no reminders; return it from a session, tool, step or persona hook"
_CONCEALS = "the body asks the model to hide it ({phrase!r}); say what happened instead"
_TAGGED = "the body brings framing tags of its own; write only the text, rendering adds the frame"


def judge(spec: Spec, names: Names) -> Iterator[Mark]:
    """Everything wrong with a spec on its own."""
    if spec.reader == "worker":
        yield Mark("HARN-RMD-008", _WORKER, spec.node, spec.node, spec.node)
        return
    for rule in RULES:
        yield from rule(spec, names)


def _shape(spec: Spec, names: Names) -> Iterator[Mark]:
    """HARN-RMD-001, 002, 005, 006: what the producer's gate refuses."""
    given: object = value_of(spec.node, names)
    if spec.options is not None:
        given = _literal(spec.options, names)
        if spec.reader == "lenient":
            given = {name: value for name, value in given.items() if name in OPTION_FIELDS}
    for problem in _problems(lambda: build(spec.producer, given, id="lint")):  # type: ignore[arg-type]
        if not _may_come(problem, spec.options, names):
            prefix = "the default will be used: " if spec.reader == "lenient" else ""
            yield _mark(problem.code, prefix + problem.message, problem.field, spec)


def _endless(spec: Spec, names: Names) -> Iterator[Mark]:
    """HARN-RMD-004, where it is written out (decision 16)."""
    options = spec.options
    if options is None or not options.whole or options.value("ttl_turns", names) is not None:
        return
    if options.value("preserve_on_compact", names) is False:
        yield _mark("HARN-RMD-004", _ENDLESS, "preserve_on_compact", spec)


def _wording(spec: Spec, names: Names) -> Iterator[Mark]:
    """TDG-001 and TDG-002: what the body says."""
    body = spec.options.given.get("body") if spec.options is not None else None
    text = text_of(body, names) if body is not None else None
    if text is None:
        return
    phrase = concealing_phrase(text)
    if phrase is not None:
        yield _mark("TDG-001", _CONCEALS.format(phrase=phrase), "body", spec)
    if neutralise(text) != text:
        yield _mark("TDG-002", _TAGGED, "body", spec)


RULES: tuple[Callable[[Spec, Names], Iterator[Mark]], ...] = (_shape, _endless, _wording)


def judge_selection(selection: Selection, names: Names) -> Iterator[Mark]:
    """HARN-RMD-001 for a selector that `clear_reminders` refuses."""
    options = selection.options
    given = _literal(options, names) if options is not None else "a literal"
    for problem in _problems(lambda: Selector.of(given)):
        nothing_given = problem.field == "selector"
        if nothing_given and options is not None and _is_unsure(options, names):
            continue
        place = _place(options, problem.field, selection.node)
        yield Mark(problem.code, problem.message, *place, selection.node)


def _literal(options: Options, names: Names) -> dict[object, object]:
    """The options for the gate: what is not literal is absent, its key still known."""
    values = {name: value_of(node, names) for name, node in options.given.items()}
    return {name: None if value is UNKNOWN else value for name, value in values.items()}


def _problems(attempt: Callable[[], object]) -> tuple[Problem, ...]:
    try:
        attempt()
    except DiagnosticError as error:
        return error.problems
    return ()


def _may_come(problem: Problem, options: Options | None, names: Names) -> bool:
    """Whether a missing body is only unknown: computed, or in a spread."""
    if problem.field != "body" or options is None:
        return False
    if "body" not in options.given:
        return not options.whole
    return options.value("body", names) is UNKNOWN


def _is_unsure(options: Options, names: Names) -> bool:
    return not options.whole or UNKNOWN in _values(options, names)


def _values(options: Options, names: Names) -> list[object]:
    return [value_of(node, names) for node in options.given.values()]


def _mark(code: str, message: str, field: str, spec: Spec) -> Mark:
    return Mark(code, message, *_place(spec.options, field, spec.node), spec.node)


def _place(options: Options | None, field: str, node: ast.expr) -> tuple[ast.AST, ast.AST]:
    """From the key to the end of its value; the whole node if the field is not written there."""
    if options is None or field not in options.places:
        return node, node
    end = next((v for name, v in options.given.items() if str(name) == field), node)
    return options.places[field], end
