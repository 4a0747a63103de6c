"""`tidings disconnect`: a coding agent's settings as they were before `tidings connect`."""

from __future__ import annotations

import json
from pathlib import Path

import typer

from tidings.cli.connect import (
    AsJson,
    DryRun,
    HostName,
    Project,
    User,
    files_told,
    host_of,
    scope_of,
    visible_diff,
)
from tidings.cli.lazy import command_app

app = command_app()

_EXAMPLES = """\
[bold]Examples[/bold]

tidings disconnect claude-code

tidings disconnect codex --project --dry-run
"""


@app.command(epilog=_EXAMPLES)
def disconnect(
    host: HostName,
    project: Project = False,
    user: User = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Take Tidings out of the settings of a coding agent.

    A file that nobody changed since gets its bytes of before; one that was made by us is removed. From a
    file that was changed only what is ours is taken out.

    Exit code: 0, also when there was nothing of ours; 2 if the settings cannot be changed safely.
    """
    from tidings.cli.connecting import manifest, server
    from tidings.cli.connecting.wiring import Wish, carry_out, disconnecting
    from tidings.hub.place import place_of

    chosen, place = host_of(host), place_of()
    known = manifest.load(place)
    changes = disconnecting(Wish(host=chosen, scope=scope_of(project, user), folder=Path.cwd()), known)
    left = False
    if not dry_run:
        carry_out(changes, place, known)
        left = server.remember(place, chosen, None)
    if as_json:
        typer.echo(json.dumps({"host": chosen, **files_told(changes), "dryRun": dry_run}))
        return
    for change in changes:
        done = "nothing of ours" if change.change == "unchanged" else change.change
        diff = visible_diff(change.diff()) if dry_run else ""
        typer.echo(diff or f"{change.target.path}: {done}")
    if left:
        typer.echo(f"the hub no longer speaks to the server of {chosen}")
