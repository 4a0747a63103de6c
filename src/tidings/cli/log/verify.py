"""`tidings log verify`: check every record of a log against its hash chain."""

from __future__ import annotations

import json
from typing import Annotated

import msgspec
import typer

from tidings.cli.lazy import BAD_NEWS, command_app
from tidings.cli.log.address import Address, open_existing
from tidings.cli.log.lines import as_time
from tidings.diagnostics.visible import visible
from tidings.errors import LogCorruptError
from tidings.log import Checkpoint

app = command_app()


@app.command()
def verify(
    address: Address = None,
    as_json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False,
) -> None:
    """Check that no record was changed, removed, inserted or cut off.

    A topic that was purged is checked from its last checkpoint on, which is shown: what lay before cannot
    be checked any more. Exit code 0 if all is well, 1 if not; then the first damaged place is named.
    """
    try:
        with open_existing(address) as log:
            found = log.verify()
    except LogCorruptError as error:
        _say_damaged(error, as_json)
        raise typer.Exit(BAD_NEWS) from None
    counts = {"topics": found.topics, "records": found.records, "batches": found.batches}
    listed = ", ".join(f"{count} {name}" for name, count in counts.items())
    if as_json:
        checkpoints = msgspec.to_builtins(found.checkpoints)
        typer.echo(json.dumps({"ok": True, **counts, "checkpoints": checkpoints}))
        return
    typer.echo(f"ok: {listed}")
    for each in found.checkpoints:
        typer.echo(f"purged: {visible(_told(each))}")


def _told(checkpoint: Checkpoint) -> str:
    """A checkpoint in a line."""
    at = as_time(checkpoint.at_ms)
    return (
        f"{checkpoint.topic} up to {checkpoint.purged_through}, last on {at}; "
        f"its chain is checked from {checkpoint.link[:16]} on"
    )


def _say_damaged(error: LogCorruptError, as_json: bool) -> None:
    if as_json:
        place = {"topic": error.topic, "cursor": error.cursor}
        typer.echo(json.dumps({"ok": False, "message": str(error), **place}))
    else:
        typer.echo(f"tidings: {visible(str(error))}", err=True)
