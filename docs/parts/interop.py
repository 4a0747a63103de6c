"""What the last `make interop` gave, from `tests/interop/results.json`, for the two pages of results."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from docs.parts.markdown import table
from tests.interop.hosts.clis import CLIS
from tests.interop.results import RESULTS, Results, Row

PARTS: dict[str, str] = {
    "baseline": "The real agents without us",
    "sdk_client": "The npm SDK's client, talking to `tidings acp`",
    "acpx": "The acpx command line client",
    "interposer": "`tidings acp-proxy` before a real agent",
    "host": "`tidings.acp.Host` with a real agent, and with `tidings acp`",
    "mcp_sdk_client": "The MCP SDK's client in TypeScript, hearing the reminders of a server of ours",
    "mcp_inspector": "The MCP Inspector's command line client, calling a tool of a server of ours",
    "mcp_servers": "MCP servers of others behind our host, `tidings.mcp.Servers`",
}
"""The parts of the run, in the order in which they are told."""

HOSTS = "hosts/"
HOST_PARTS: dict[str, str] = {
    "hosts/delivery": "News reach the model",
    "hosts/steering": "News change what the agent does",
    "hosts/waking": "News wake an idle agent",
    "hosts/monitor": "News wake an agent in a terminal",
    "hosts/lasting": "What outlives a step",
    "hosts/files": "Files that the agent wrote itself",
    "hosts/surfaces": "Other ways in",
    "hosts/trust": "Words of others",
    "hosts/tutorial": "The tutorial",
}
"""The parts with command line agents, which have a page of their own."""

WORDS = {"passed": "yes", "failed": "**no**", "skipped": "not run"}


def last_run() -> Results:
    """What the last whole run gave."""
    return msgspec.json.decode(RESULTS.read_bytes(), type=Results)


def interop_versions(results: Results | None = None) -> str:
    """What was installed, or why not."""
    results = results or last_run()
    rows = [(f"`{each.name}`", each.version, each.problem or "installed") for each in results.packages]
    ours = ("Python", results.python, results.system)
    return table(("package", "version", ""), [ours, *rows])


def interop_results(results: Results | None = None) -> str:
    """A table for each part: behaviour by peer; below it what was not run, and why."""
    rows = [row for row in (results or last_run()).rows if not row.part.startswith(HOSTS)]
    return _tables(PARTS, rows)


def hosts_results(results: Results | None = None) -> str:
    """The same, of the parts with command line agents."""
    rows = [row for row in (results or last_run()).rows if row.part.startswith(HOSTS)]
    return _tables(HOST_PARTS, rows)


def hosts_versions(results: Results | None = None) -> str:
    """The package and the version of each command line agent."""
    packages = {each.name: each for each in (results or last_run()).packages}
    agents = [(name, packages[cli.package]) for name, cli in CLIS.items() if cli.package in packages]
    rows = [(name, f"`{each.name}`", each.version, each.problem or "installed") for name, each in agents]
    return table(("agent", "package", "version", ""), rows)


def _tables(titles: Mapping[str, str], rows: list[Row]) -> str:
    parts = [*titles, *sorted({row.part for row in rows} - titles.keys())]
    return "\n\n".join(
        _part(titles.get(name, name), [row for row in rows if row.part == name]) for name in parts
    )


def _part(name: str, rows: list[Row]) -> str:
    title = f"### {name}"
    if not rows:
        return f"{title}\n\nNot run."
    peers = list(dict.fromkeys(row.peer for row in rows))
    cells = {(row.behaviour, row.peer): WORDS[row.outcome] for row in rows}
    lines = [
        (behaviour, *(cells.get((behaviour, peer), "") for peer in peers))
        for behaviour in dict.fromkeys(row.behaviour for row in rows)
    ]
    blocks = [title, table(("behaviour", *peers), lines), "\n".join(_gaps(rows))]
    return "\n\n".join(block for block in blocks if block)


def _gaps(rows: list[Row]) -> list[str]:
    """What was not run: a line for each behaviour and reason."""
    gaps: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row.outcome == "skipped":
            gaps.setdefault((row.behaviour, row.note), []).append(row.peer)
    return [
        f"- Not run with {' and '.join(peers)}: {behaviour}. Reason: {note}."
        for (behaviour, note), peers in gaps.items()
    ]
