"""`tidings watch command`: run a command again at each change, and tell agents when its verdict turns."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tidings.cli.lazy import command_app
from tidings.cli.watch.options import (
    Deadline,
    Every,
    Http,
    JsonLines,
    Name,
    Only,
    OwnWritesTool,
    Poll,
    Root,
)
from tidings.cli.watch.serving import run

app = command_app()
_EXAMPLES = """\
[bold]Examples[/bold]

tidings watch command -- cargo check

tidings watch command --only '*.ts' --name types -- npx tsc --noEmit

tidings watch command --every 300 --all -- ./check-links.sh
"""


@app.command(epilog=_EXAMPLES)
def command(
    argv: Annotated[list[str], typer.Argument(metavar="COMMAND", help="The command, behind --.")],
    root: Root = Path(),
    only: Only = None,
    every: Every = None,
    deadline: Deadline = 600.0,
    every_run: Annotated[
        bool, typer.Option("--all", help="Tell every run, not only when its verdict turns.")
    ] = False,
    quiet_start: Annotated[
        bool, typer.Option("--quiet-start", help="Do not tell of the first run even if it fails.")
    ] = False,
    own_writes: OwnWritesTool = False,
    poll: Poll = False,
    http: Http = None,
    name: Name = None,
    as_json: JsonLines = False,
) -> None:
    """Run a command now and at each change, and tell when it begins to fail or to pass.

    A run that a change made stale is stopped. What a failing run is told with are its first failing lines,
    without secrets. All it says shares one dedupe key, such as cargo-check:status.

    Exit code: 0 when the host closed, 2 if the folder, watchfiles or the MCP SDK is missing.
    """
    from tidings.watchers.command import CommandWatcher
    from tidings.watchers.own import GRACE, OwnWrites

    own = OwnWrites(root, grace=GRACE) if own_writes else None
    watcher = CommandWatcher(
        argv,
        root,
        patterns=tuple(only or ()),
        interval=every,
        deadline=deadline,
        report="every" if every_run else "turns",
        first="never" if quiet_start else "always" if every_run else "failing",
        own=own,
        poll=poll or None,
        name=name,
    )
    run([watcher], http=http, as_json=as_json, own=own)
