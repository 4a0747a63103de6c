"""`tidings memory check`: is the file sound; and save what is readable if it is not."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tidings.cli.lazy import BAD_NEWS, command_app
from tidings.cli.memory.importing import read_lines
from tidings.cli.memory.options import DATE, File, place
from tidings.diagnostics.visible import visible
from tidings.errors import CallerError

app = command_app()
_EXAMPLES = """\
[bold]Examples[/bold]

tidings memory check

tidings memory check --repair --from memory-backup.jsonl
"""


@app.command(epilog=_EXAMPLES)
def check(
    file: File = None,
    repair: Annotated[
        bool, typer.Option("--repair", help="Put a sound file in its place, if it is not sound.")
    ] = False,
    export: Annotated[
        Path | None,
        typer.Option("--from", metavar="LINES", help="With --repair: fill up from this export."),
    ] = None,
) -> None:
    """Check the memory's file; with --repair save what is readable into a new one.

    The damaged file is kept beside the new one.

    Exit code: 0 when it is sound or was repaired, 1 when it is damaged, 2 if it cannot be opened.
    """
    from tidings.memory import health
    from tidings.memory.failure import MemoryCorruptError

    if export is not None and not repair:
        raise CallerError("--from goes with --repair")
    path = place(file)
    try:
        problems = health.check(path)
    except MemoryCorruptError as error:
        problems = [str(error)]
    for problem in problems:
        typer.echo(f"damaged: {visible(problem)}")
    if not problems:
        typer.echo("sound")
        _tell_departures(path)
        return
    if not repair:
        raise typer.Exit(BAD_NEWS)
    done = health.repair(path, read_lines(export) if export else ())
    typer.echo(
        f"repaired: {done.readable} memories were readable, {done.from_export} came from the export; "
        f"the damaged file is {done.damaged}"
    )


def _tell_departures(path: Path) -> None:
    """Say what of the seen left for want of room."""
    from tidings.memory.entry import iso
    from tidings.memory.store import MemoryStore

    with MemoryStore(path, embedder=None) as store:
        for left in store.departures():
            said = f"{iso(left.oldest)[:DATE]} to {iso(left.newest)[:DATE]}"
            typer.echo(
                f"left on {iso(left.at)[:DATE]} for want of room: {left.count} seen messages of {said}"
            )
