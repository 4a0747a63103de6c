"""`tidings watch files`: tell agents which files change outside their conversation."""

from __future__ import annotations

from pathlib import Path

from tidings.cli.lazy import command_app
from tidings.cli.watch.options import Http, JsonLines, Name, Only, OwnWritesTool, Poll, Root
from tidings.cli.watch.serving import run

app = command_app()
_EXAMPLES = """\
[bold]Examples[/bold]

tidings watch files

tidings watch files --root ~/shop --only '*.py' --only '!migrations/'

tidings watch files --json
"""


@app.command(epilog=_EXAMPLES)
def files(
    root: Root = Path(),
    only: Only = None,
    own_writes: OwnWritesTool = False,
    poll: Poll = False,
    http: Http = None,
    name: Name = None,
    as_json: JsonLines = False,
) -> None:
    """Tell what is created, edited, renamed or deleted below a folder.

    VCS folders, tool caches and what .gitignore names are left out. A few files get a reminder each, many
    become one summary. An MCP host starts this over stdio; --http serves several hosts at once.

    Exit code: 0 when the host closed, 2 if the folder, watchfiles or the MCP SDK is missing.
    """
    from tidings.watchers.files import FileWatcher
    from tidings.watchers.own import GRACE, OwnWrites

    own = OwnWrites(root, grace=GRACE) if own_writes else None
    watcher = FileWatcher(
        root, patterns=tuple(only or ()), own=own, poll=poll or None, name=name or "files"
    )
    run([watcher], http=http, as_json=as_json, own=own)
