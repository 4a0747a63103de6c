"""`tidings workspaces`: which folders are attached to the hub, and how their watchers are."""

from __future__ import annotations

import time

from tidings.cli.folder import problems
from tidings.cli.hubbing import AsJson, ask, listed, show
from tidings.cli.lazy import command_app
from tidings.core.producers import shorten
from tidings.core.reminder import Payload

NOTHING = "no folder is attached; run `tidings up` in one"

app = command_app()


@app.command()
def workspaces(as_json: AsJson = False) -> None:
    """List the attached folders with their watchers: state, for how long, and last words."""
    answer = ask("workspaces", {})
    rows = [cells for row in listed(answer, "workspaces") for cells in _cells(row)]
    show(answer, as_json, ("folder", "watcher", "state", "seconds", "last message"), rows, NOTHING)


def _cells(row: Payload) -> list[tuple[object, ...]]:
    path = row.get("path")
    found: list[tuple[object, ...]] = [
        (path, one.get("name"), one.get("state"), _age(one.get("since")), shorten(str(one["lastMessage"])))
        for one in listed(row, "watchers")
    ]
    found += [(path, "-", "problem", "-", problem) for problem in problems(row)]
    return found or [(path, "-", "no watchers", "-", "")]


def _age(since: object) -> object:
    return max(0, round(time.time() - since / 1000)) if isinstance(since, int) else "-"
