"""`tidings memory import`: take in memories from JSON lines."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from tidings.cli.lazy import command_app
from tidings.cli.memory.options import File, place
from tidings.errors import CallerError

app = command_app()


@app.command()
def import_(
    lines: Annotated[
        Path, typer.Argument(metavar="LINES", help="A file of JSON lines; - reads standard input.")
    ],
    file: File = None,
) -> None:
    """Add the memories of a file of JSON lines: all of them, or none.

    Exit code: 0; 2 if a line is wrong (each is named with its number) or a file cannot be used.
    """
    from tidings.memory.store import MemoryStore
    from tidings.memory.transfer import import_lines

    data = read_lines(lines)
    with MemoryStore(place(file, must_exist=False)) as store:
        done = import_lines(store, data)
    typer.echo(f"imported: {done.added}, known already: {done.known}")


def read_lines(lines: Path) -> list[bytes]:
    """The lines of a file, or of standard input.

    Raises:
        CallerError: it cannot be read.
    """
    if str(lines) == "-":
        return sys.stdin.buffer.read().splitlines()
    try:
        return lines.read_bytes().splitlines()
    except OSError as error:
        raise CallerError(f"{lines} cannot be read: {error.strerror}") from error
