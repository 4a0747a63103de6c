"""`tidings pending`: what is on its way at the hub."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from tidings.cli.hubbing import AsJson, addressed, ask, listed, show
from tidings.cli.lazy import command_app
from tidings.core.producers import shorten
from tidings.core.reminder import Payload

app = command_app()


@app.command()
def pending(
    session: Annotated[
        str | None, typer.Option("--session", metavar="ID", help="Only what is for this session.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the reminders that no host has acknowledged yet, first come first."""
    answer = ask("pending", {} if session is None else {"sessionId": session})
    columns = ("reminder", "state", "to", "seconds left", "body")
    rows = [_cells(row) for row in listed(answer, "reminders")]
    show(answer, as_json, columns, rows, "nothing is on its way")


def _cells(row: Payload) -> tuple[object, ...]:
    until, reminder = row.get("deliverUntilMs"), row.get("reminder")
    left = max(0, round(until / 1000 - time.time())) if isinstance(until, int) else "-"
    body = reminder.get("body") if isinstance(reminder, dict) else ""
    return row.get("reminderId"), row.get("state"), addressed(row.get("to")), left, shorten(str(body))
