"""`tidings init`: write a first `tidings.toml`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated

import typer

from tidings.cli.folder import FILE, this_folder
from tidings.cli.hubbing import AsJson
from tidings.cli.lazy import command_app
from tidings.diagnostics.visible import visible
from tidings.errors import CallerError

app = command_app()
_EXAMPLES = """\
[bold]Examples[/bold]

tidings init && tidings up

tidings init --dry-run
"""


@app.command(epilog=_EXAMPLES)
def init(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="The folder. Default: this one.", show_default=False)
    ] = Path(),
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print it and write nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write a tidings.toml with comments: what the hub watches here.

    Test runners (pytest, cargo, go, jest, vitest) and git are found by the project's files. Nothing is run.

    Exit code: 0 when it was written, 2 if there is one already or the folder cannot be used.
    """
    from tidings.hub.workspace.reading import read_text
    from tidings.hub.workspace.writing import look, written

    if not folder.is_dir():
        raise CallerError(f"{str(folder)!r} is not a folder; give one that exists")
    path = (this_folder() / folder).resolve() / FILE
    found = look(path.parent)
    text = written(found)
    read_text(text, path.parent)
    if not dry_run:
        _write(path, text, force)
    if as_json:
        about = {"path": str(path), "written": not dry_run, "tests": list(found.runners), "text": text}
        typer.echo(json.dumps(about))
    elif dry_run:
        typer.echo(text, nl=False)
    else:
        tests = f" Tests: {', '.join(found.runners)}." if found.runners else ""
        typer.echo(f"{visible(str(path))} is written.{tests} Read it, then run `tidings up` here.")


def _write(path: Path, text: str, force: bool) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | (os.O_TRUNC if force else os.O_EXCL)
    try:
        handle = os.open(path, flags, 0o644)
    except FileExistsError as error:
        raise CallerError(f"{str(path)!r} is there already; look at it, or give --force") from error
    except OSError as error:
        raise CallerError(f"{str(path)!r} cannot be written: {error.strerror}") from error
    with os.fdopen(handle, "w") as file:
        file.write(text)
