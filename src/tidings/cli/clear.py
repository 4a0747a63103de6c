"""`tidings clear`: take back all reminders on their way that match."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from tidings.cli.hubbing import AsJson, ask
from tidings.cli.lazy import command_app

app = command_app()


@app.command()
def clear(
    tag: Annotated[str | None, typer.Option("--tag", metavar="TAG", help="Those with this tag.")] = None,
    dedupe_key: Annotated[
        str | None, typer.Option("--dedupe-key", metavar="KEY", help="Those with this key.")
    ] = None,
    id: Annotated[str | None, typer.Option("--id", metavar="ID", help="The one with this id.")] = None,
    as_json: AsJson = False,
) -> None:
    """Take back what matches everything given and no host has yet."""
    given = {"tag": tag, "dedupeKey": dedupe_key, "id": id}
    answer = ask("clear", {name: value for name, value in given.items() if value is not None})
    typer.echo(json.dumps(answer) if as_json else f"{answer.get('removedCount')} taken back")
