"""`tidings memory export`: every memory as JSON lines."""

from __future__ import annotations

import typer

from tidings.cli.lazy import command_app
from tidings.cli.memory.options import File, place

app = command_app()


@app.command()
def export(file: File = None) -> None:
    """Print every memory as a line of JSON, outdated ones included.

    Exit code: 0; 2 if the file cannot be read.
    """
    from tidings.memory.store import MemoryStore
    from tidings.memory.transfer import export_lines

    with MemoryStore(place(file), embedder=None) as store:
        for line in export_lines(store):
            typer.echo(line)
