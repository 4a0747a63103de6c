"""`tidings status`: whether a hub runs, where, and how much is on its way."""

from __future__ import annotations

import json

import typer

from tidings.cli.hubbing import AsJson, ask, show
from tidings.cli.lazy import BAD_NEWS, command_app
from tidings.hub.place import is_running, place_of, read_state

app = command_app()


@app.command()
def status(as_json: AsJson = False) -> None:
    """Show the hub at a glance; exit code 1 when none runs."""
    place = place_of()
    if not is_running(place):
        typer.echo(json.dumps({"running": False}) if as_json else "no hub runs; start one: tidings up")
        raise typer.Exit(BAD_NEWS)
    found, state = ask("status", {}, place), read_state(place)
    url = state.url if state is not None else "-"
    answer = {"running": True, "url": url, "tokenFile": str(place.token_file), **found}
    counts = found.get("reminders")
    reminders = counts if isinstance(counts, dict) else {}
    rows: list[tuple[str, object]] = [
        ("address", url),
        ("process", found.get("pid")),
        ("version", found.get("version")),
        ("token", place.token_file),
        ("sessions", found.get("sessions")),
        *((f"reminders {name}", count) for name, count in reminders.items()),
        ("records", found.get("cursor")),
        ("live readers", found.get("subscribers")),
    ]
    show(answer, as_json, ("what", "value"), rows)
