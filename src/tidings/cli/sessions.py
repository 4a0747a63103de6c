"""`tidings sessions`: which sessions the hub can reach."""

from __future__ import annotations

from tidings.cli.hubbing import AsJson, ask, listed, show
from tidings.cli.lazy import command_app

app = command_app()


@app.command()
def sessions(as_json: AsJson = False) -> None:
    """List the sessions that are registered at the hub."""
    answer = ask("sessions", {})
    columns = ("session", "agent", "workspace", "tags", "waiting")
    rows = [
        (
            row.get("sessionId"),
            row.get("agent") or "-",
            row.get("workspace") or "-",
            ",".join(map(str, tags)) if isinstance(tags := row.get("tags"), list) and tags else "-",
            row.get("waiting"),
        )
        for row in listed(answer, "sessions")
    ]
    show(answer, as_json, columns, rows)
