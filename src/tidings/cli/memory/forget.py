"""`tidings memory forget`: make the memory forget, for good."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from tidings.cli.lazy import BAD_NEWS, command_app
from tidings.cli.memory.options import AsJson, File, memory_line, place

app = command_app()
_EXAMPLES = """\
[bold]Examples[/bold]

tidings memory forget --key api-host

tidings memory forget --containing "Northgate" --dry-run

tidings memory forget --project harbor --before 2025-01-01
"""


@app.command(epilog=_EXAMPLES)
def forget(
    ids: Annotated[list[str] | None, typer.Argument(metavar="ID", help="The memories to forget.")] = None,
    file: File = None,
    key: Annotated[str | None, typer.Option("--key", metavar="KEY", help="All with this key.")] = None,
    containing: Annotated[
        str | None, typer.Option("--containing", metavar="TEXT", help="All whose text contains this.")
    ] = None,
    conversation: Annotated[
        str | None, typer.Option("--conversation", metavar="ID", help="All of this conversation.")
    ] = None,
    project: Annotated[
        str | None, typer.Option("--project", metavar="NAME", help="All of this project.")
    ] = None,
    before: Annotated[
        str | None, typer.Option("--before", metavar="WHEN", help="All that are older, ISO 8601.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be forgotten.")] = False,
    as_json: AsJson = False,
) -> None:
    """Forget every memory that matches all that is given, and clear it from the file's bytes.

    Exit code: 0 when the file was searched and holds none of it any more; 1 when it is forgotten but
    another program keeps its bytes in the file; 2 if nothing was given or the file cannot be written.
    """
    from tidings.memory.purge import select
    from tidings.memory.store import MemoryStore

    options = {
        "id": ids or None,
        "key": key,
        "containing": containing,
        "conversation": conversation,
        "project": project,
        "before": before,
    }
    with MemoryStore(place(file)) as store:
        if dry_run:
            with store.file.reading() as connection:
                found = [name for _, name in select(connection, options)]
            for name in found:
                memory = store.get(name)
                typer.echo(memory_line(memory) if memory else name)
            return
        done = store.forget(options)
    if as_json:
        told = {"forgotten": list(done.ids), "verified": done.verified, "standing": list(done.standing)}
        typer.echo(json.dumps(told))
    else:
        typer.echo(f"forgotten: {len(done.ids)}")
        for name in done.standing:
            typer.echo(f"holds again: {name}")
    if not done.verified:
        typer.echo(f"tidings: {done.reason}", err=True)
        raise typer.Exit(BAD_NEWS)
