"""`tidings watch`: the watchers as MCP servers. The table of its commands."""

from __future__ import annotations

from tidings.cli.lazy import lazy_app

COMMANDS: dict[str, str] = {
    "files": "tidings.cli.watch.files:app",
    "command": "tidings.cli.watch.command:app",
    "tests": "tidings.cli.watch.suites:app",
    "reviews": "tidings.cli.watch.reviews:app",
}

app = lazy_app(COMMANDS, "Watch something and tell agents what happens, as an MCP server.")


@app.callback()
def _options() -> None: ...
