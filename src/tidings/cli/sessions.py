"""`tidings sessions`: which sessions the hub can reach."""

from __future__ import annotations

from typing import Annotated

import typer

from tidings.cli.hubbing import AsJson, ask, listed, show
from tidings.cli.lazy import command_app
from tidings.core.reminder import Payload

app = command_app()


@app.command()
def sessions(
    ended: Annotated[bool, typer.Option("--ended", help="Also the last ones that left.")] = False,
    as_json: AsJson = False,
) -> None:
    """List the sessions that are registered at the hub."""
    answer = ask("sessions", {"ended": ended})
    columns = ("session", "agent", "workspace", "tags", "waiting", *(("state",) if ended else ()))
    rows = [(*_cells(row), *((row.get("state"),) if ended else ())) for row in listed(answer, "sessions")]
    show(answer, as_json, columns, rows)


def _cells(row: Payload) -> tuple[object, ...]:
    tags = row.get("tags")
    return (
        row.get("sessionId"),
        row.get("agent") or "-",
        row.get("workspace") or "-",
        ",".join(map(str, tags)) if isinstance(tags, list) and tags else "-",
        row.get("waiting"),
    )
