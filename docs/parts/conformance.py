"""What the last `make conformance` gave, from `tests/conformance/results.json`: for conformance.md."""

from __future__ import annotations

from docs.parts.markdown import code, table
from tests.conformance.results import LegResults, Results, read
from tests.conformance.suite import RETRIED
from tests.conformance.verdict import Expected, Scenario, about, expectations

LEG_TITLES = {
    "server": "Our server, version {version}",
    "client": "Our host, version {version}",
}


def conformance_versions(results: Results | None = None) -> str:
    """What was run with what."""
    results = results or read()
    return table(("", "version"), [("System", results.system), *results.versions.items()])


def conformance_summary(results: Results | None = None) -> str:
    """A line for each leg."""
    head = ("leg", "required scenarios that hold", "others that hold", "seconds")
    return table(head, [_line(leg) for leg in (results or read()).legs])


def conformance_results(results: Results | None = None, expected: list[Expected] | None = None) -> str:
    """Each leg: what fails and why, what warns, what was not examined, and all scenarios."""
    listed = expectations() if expected is None else expected
    return "\n\n".join(_leg(leg, about(leg.leg, listed)) for leg in (results or read()).legs)


def _line(leg: LegResults) -> tuple[str, ...]:
    required = [one for one in leg.scenarios if one.unscored is None]
    other = [one for one in leg.scenarios if one.unscored is not None]
    return (str(leg.leg), _share(required), _share(other), f"{leg.seconds:.0f}")


def _share(scenarios: list[Scenario]) -> str:
    return f"{sum(one.holds for one in scenarios)} of {len(scenarios)}"


def _leg(leg: LegResults, known: dict[str, Expected]) -> str:
    title = LEG_TITLES[leg.leg.side].format(version=leg.leg.version)
    required = [one for one in leg.scenarios if one.unscored is None]
    other = [one for one in leg.scenarios if one.unscored is not None]
    rows = [(f"`{one.name}`", _word(one), _counts(one)) for one in required]
    blocks = [
        f"### {title}",
        "\n".join(_told(required, known)),
        table(("required scenario", "", "checks"), rows),
        "Run by the suite and not counted by it:" if other else "",
        table(
            ("scenario", "why not counted", "", "checks"),
            [(f"`{one.name}`", str(one.unscored), _word(one), _counts(one)) for one in other],
        )
        if other
        else "",
    ]
    return "\n\n".join(block for block in blocks if block)


def _told(scenarios: list[Scenario], known: dict[str, Expected]) -> list[str]:
    """What a reader must know besides the table."""
    lines = [_failure(one, known.get(one.name)) for one in scenarios if not one.holds]
    warned = [f"- Warns in `{one.name}`: {code(one.warned)}." for one in scenarios if one.warned]
    alone = [
        f"- `{one.name}` was run once more by itself: it {RETRIED[one.name]}."
        for one in scenarios
        if one.alone
    ]
    return lines + warned + alone


def _failure(scenario: Scenario, known: Expected | None) -> str:
    if not scenario.examined:
        return f"- **Nothing was examined**: `{scenario.name}`."
    if known is None:
        return f"- **Fails unexpectedly**: `{scenario.name}`: {code(scenario.failed)}."
    return f"- Fails as expected: `{scenario.name}`: {code(scenario.failed)}. {known.reason}"


def _word(scenario: Scenario) -> str:
    if not scenario.examined:
        return "warns" if scenario.warned else "nothing examined"
    return "holds" if scenario.holds else "**fails**"


def _counts(scenario: Scenario) -> str:
    counts = {
        "hold": scenario.passed,
        "fail": len(scenario.failed),
        "warn": len(scenario.warned),
        "skipped": scenario.skipped,
    }
    return ", ".join(f"{number} {word}" for word, number in counts.items() if number)
