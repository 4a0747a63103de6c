"""`tidings watch tests`: run the tests again at each change, and tell agents which turned red or green."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tidings.cli.lazy import command_app
from tidings.cli.watch.options import Deadline, Every, Http, JsonLines, Name, Only, Poll, Root
from tidings.cli.watch.serving import run

app = command_app()
_EXAMPLES = """\
[bold]Examples[/bold]

tidings watch tests

tidings watch tests -- pytest -x tests/unit

tidings watch tests --only '*.go' -- go test -json ./...
"""


@app.command(epilog=_EXAMPLES)
def watch_tests(
    argv: Annotated[
        list[str] | None,
        typer.Argument(metavar="COMMAND", help="The command, behind --. Default: the project's runner."),
    ] = None,
    root: Root = Path(),
    only: Only = None,
    every: Every = None,
    deadline: Deadline = 600.0,
    poll: Poll = False,
    http: Http = None,
    name: Name = None,
    as_json: JsonLines = False,
) -> None:
    """Run the tests now and at each change, and tell which turned red or green, never the log.

    Reads pytest, go test, cargo test, jest and vitest. A test that keeps turning is called flaky and then
    left alone; a file that cannot be collected is told as such.

    Exit code: 0 when the host closed, 2 if no runner is found or the MCP SDK is missing.
    """
    from tidings.watchers.suites import SuiteWatcher

    watcher = SuiteWatcher(
        argv or None,
        root,
        patterns=tuple(only or ()),
        interval=every,
        deadline=deadline,
        poll=poll or None,
        name=name,
    )
    run([watcher], http=http, as_json=as_json)
