"""What turned in a test suite becomes what the agent is told: names and reasons, never the log. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tidings.agent.providers.quoting import one_line
from tidings.core.redaction import redact
from tidings.watchers.comparing import How, Suite, Turn
from tidings.watchers.told import Told

FEW = 8
"""Up to so many suites get a reminder each; more are summed up in one."""
NAMED = 8
"""How many tests of a suite are named."""
TTL = 2
TAGS = ("tests",)

_SAID: dict[How, str] = {
    "red": "turned red",
    "green": "turned green",
    "flaky": "turned again: probably flaky",
}


def tell(suites: Sequence[Suite], *, first: bool = False) -> list[Told]:
    """One reminder per suite; one in all when too many turned. On the first run only trouble is told."""
    told = [suite for suite in suites if not first or suite.broken or suite.failing]
    if len(told) > FEW:
        return [_summary(told)]
    return [
        Told(redact(_body(suite, first)), f"test:{one_line(suite.name, 300)}", TAGS, TTL) for suite in told
    ]


def _body(suite: Suite, first: bool) -> str:
    name = one_line(suite.name, 300)
    if suite.broken is not None:
        return f"{name} cannot be run: {one_line(suite.broken, 300)}"
    red, green, flaky = (_of(suite.turns, how) for how in ("red", "green", "flaky"))
    if not red and not flaky and not suite.failing:
        return _all_green(name, green, suite.mended)
    lines = [f"{name}: {_counts(suite, first)}."]
    for how, turns in (("red", red), ("green", green), ("flaky", flaky)):
        lines += _named(turns, how if len(suite.turns) > len(turns) else None)
    return "\n".join(lines)


def _all_green(name: str, green: list[Turn], mended: bool) -> str:
    if mended and not green:
        return f"{name} can be run again."
    which = f" ({_names(green)})" if green else ""
    return f"{name} now passes.{which}"


def _counts(suite: Suite, first: bool) -> str:
    said = ["it can be run again"] if suite.mended else []
    for how in ("red", "green", "flaky"):
        count = len(_of(suite.turns, how))
        if count:
            what = ("fails" if count == 1 else "fail") if first and how == "red" else _SAID[how]
            said.append(f"{count} test{'' if count == 1 else 's'} {what}")
    named = [turn for turn in suite.turns if turn.how != "green" and turn.case.outcome == "failed"]
    still = suite.failing - len(named)
    if still > 0 and not first:
        said.append(f"{still} still {'fails' if still == 1 else 'fail'}")
    return ", ".join(said)


def _of(turns: Iterable[Turn], how: How | str) -> list[Turn]:
    return [turn for turn in turns if turn.how == how]


def _named(turns: list[Turn], how: str | None) -> list[str]:
    mark = f"{how}: " if how is not None else ""
    lines = [f"- {mark}{turn.case.name}{_why(turn)}" for turn in turns[:NAMED]]
    return [*lines, f"- and {len(turns) - NAMED} more"] if len(turns) > NAMED else lines


def _why(turn: Turn) -> str:
    return f": {turn.case.message}" if turn.case.message and turn.case.outcome == "failed" else ""


def _names(turns: list[Turn]) -> str:
    shown = ", ".join(turn.case.name for turn in turns[:NAMED])
    return f"{shown} and {len(turns) - NAMED} more" if len(turns) > NAMED else shown


def _summary(suites: Sequence[Suite]) -> Told:
    counts = {how: sum(len(_of(suite.turns, how)) for suite in suites) for how in _SAID}
    said = [f"{count} tests {_SAID[how]}" for how, count in counts.items() if count]
    broken = [suite for suite in suites if suite.broken is not None]
    if broken:
        said.append(f"{len(broken)} suites cannot be run")
    lines = [f"In {len(suites)} test suites: {', '.join(said) or 'all can be run again'}."]
    worst = sorted(suites, key=lambda suite: (suite.broken is None, -suite.failing))
    lines += [f"- {one_line(suite.name, 200)}: {_brief(suite)}" for suite in worst[:NAMED]]
    if len(suites) > NAMED:
        lines.append(f"- and {len(suites) - NAMED} more")
    return Told(redact("\n".join(lines)), "test:many", TAGS, TTL)


def _brief(suite: Suite) -> str:
    if suite.broken is not None:
        return f"cannot be run: {one_line(suite.broken, 160)}"
    return f"{suite.failing} failing" if suite.failing else "passes"
