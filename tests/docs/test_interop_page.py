"""The page of interop results says what failed and what was not run, as plainly as what passed."""

from __future__ import annotations

from docs.parts.interop import hosts_results, hosts_versions, interop_results, interop_versions
from tests.interop.install import Package
from tests.interop.results import Results, Row

RESULTS = Results(
    system="Linux x86_64",
    python="3.11.7",
    packages=[Package(name="a", version="1.0"), Package(name="b", version="2.0", problem="npm exited 1")],
    rows=[
        Row(part="host", peer="a", behaviour="works", outcome="passed"),
        Row(part="host", peer="b", behaviour="works", outcome="skipped", note="b is not installed"),
        Row(part="host", peer="a", behaviour="works well", outcome="failed"),
        Row(part="hosts/delivery", peer="codex", behaviour="hears", outcome="passed"),
    ],
)


def test_a_package_that_could_not_be_had_is_named_with_the_reason() -> None:
    assert interop_versions(RESULTS).splitlines()[2:] == [
        "| Python | 3.11.7 | Linux x86_64 |",
        "| `a` | 1.0 | installed |",
        "| `b` | 2.0 | npm exited 1 |",
    ]


def test_each_behaviour_has_a_row_each_peer_a_column_and_each_gap_its_reason() -> None:
    parts = interop_results(RESULTS).split("### ")
    (host,) = [part for part in parts if part.startswith("`tidings.acp.Host`")]
    assert host.rstrip().splitlines()[2:] == [
        "| behaviour | a | b |",
        "| --- | --- | --- |",
        "| works | yes | not run |",
        "| works well | **no** |  |",
        "",
        "- Not run with b: works. Reason: b is not installed.",
    ]


def test_a_part_that_was_not_run_at_all_says_so() -> None:
    assert interop_results(RESULTS).startswith("### The real agents without us\n\nNot run.")


def test_command_line_agents_have_tables_of_their_own() -> None:
    assert hosts_results(RESULTS).split("### ")[1].splitlines() == [
        "News reach the model",
        "",
        "| behaviour | codex |",
        "| --- | --- |",
        "| hears | yes |",
        "",
    ]
    assert "hears" not in interop_results(RESULTS)


def test_the_version_of_each_command_line_agent_is_named() -> None:
    packages = [Package(name="@openai/codex", version="1.0"), Package(name="b", version="2.0")]
    results = Results(system="", python="", packages=packages, rows=[])
    assert hosts_versions(results).splitlines()[2:] == ["| codex | `@openai/codex` | 1.0 | installed |"]
