"""`tidings detach`: stop watching a folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from tidings.cli.folder import project_folder, this_folder
from tidings.cli.hubbing import AsJson, ask
from tidings.cli.lazy import BAD_NEWS, command_app
from tidings.diagnostics.visible import visible

app = command_app()


@app.command()
def detach(
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="FOLDER", help="The folder. Default: this one.", show_default=False),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Leave a folder alone: its watchers end, the hub goes on. Exit code 1 when it was not attached."""
    chosen = project_folder(this_folder()) if folder is None else folder.resolve()
    answer = ask("detach", {"path": str(chosen)})
    if as_json:
        typer.echo(json.dumps(answer))
    else:
        word = "is detached" if answer.get("detached") else "was not attached"
        typer.echo(f"{visible(str(chosen))} {word}")
    if not answer.get("detached"):
        raise typer.Exit(BAD_NEWS)
