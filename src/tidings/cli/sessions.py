"""`tidings sessions`: which sessions the hub can reach."""

from __future__ import annotations

from typing import Annotated

import typer

from tidings.cli.hubbing import AsJson, ask, listed, show
from tidings.cli.lazy import command_app
from tidings.core.reminder import Payload
from tidings.hosts.reach import LABELS

app = command_app()


@app.command()
def sessions(
    ended: Annotated[bool, typer.Option("--ended", help="Also the last ones that left.")] = False,
    as_json: AsJson = False,
) -> None:
    """List the sessions that are registered at the hub, and what coding agents among them cannot do."""
    answer = ask("sessions", {"ended": ended})
    found = listed(answer, "sessions")
    hosted = any(cannot(row) is not None for row in found)
    more = (*(("state",) if ended else ()), *(("cannot",) if hosted else ()))
    columns = ("session", "agent", "workspace", "tags", "waiting", *more)
    shown = [{**row, "cannot": cannot(row) or "-"} for row in found]
    rows = [(*_cells(row), *(row.get(name) for name in more)) for row in shown]
    show(answer, as_json, columns, rows, "no session is registered")


def cannot(row: Payload) -> str | None:
    """What the host of a session cannot do, in words; None for a session that is no host's."""
    capabilities = row.get("capabilities")
    reach = capabilities.get("reach") if isinstance(capabilities, dict) else None
    if not isinstance(reach, dict):
        return None
    return ", ".join(LABELS.get(str(name), str(name)) for name, how in reach.items() if how == "no")


def _cells(row: Payload) -> tuple[object, ...]:
    tags = row.get("tags")
    return (
        row.get("sessionId"),
        row.get("agent") or "-",
        row.get("workspace") or "-",
        ",".join(map(str, tags)) if isinstance(tags, list) and tags else "-",
        row.get("waiting"),
    )
