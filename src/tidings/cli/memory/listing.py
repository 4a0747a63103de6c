"""`tidings memory list`: what is remembered, newest first."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from tidings.cli.lazy import command_app
from tidings.cli.memory.options import AsJson, File, memory_line, place

app = command_app()


@app.command()
def list_(
    file: File = None,
    project: Annotated[
        str | None,
        typer.Option(
            "--project", metavar="NAME", help="Only this project, and what holds everywhere. Default: all."
        ),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", help="At most so many.", min=1)] = 50,
    outdated: Annotated[bool, typer.Option("--outdated", help="Also those that no longer hold.")] = False,
    as_json: AsJson = False,
) -> None:
    """List memories, newest first.

    Exit code: 0; 2 if the file cannot be read.
    """
    from tidings.memory.store import MemoryStore
    from tidings.memory.tools import shown

    with MemoryStore(place(file), embedder=None) as store:
        found = store.list(project=project, limit=limit, outdated=outdated)
    for memory in found:
        typer.echo(json.dumps(shown(memory), ensure_ascii=False) if as_json else memory_line(memory))
