"""`tidings revoke`: take a reminder back from the hub."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from tidings.cli.hubbing import AsJson, ask
from tidings.cli.lazy import command_app

app = command_app()


@app.command()
def revoke(
    reminder: Annotated[str, typer.Argument(metavar="ID", help="The reminder's id.", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Take back a reminder that no host has yet; exit code 2 when it is too late, or unknown."""
    answer = ask("revoke", {"reminderId": reminder})
    typer.echo(json.dumps(answer) if as_json else f"{answer.get('status')} {answer.get('reminderId')}")
