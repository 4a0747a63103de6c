"""The `tidings` command: the table of commands and the entry point of the console script.

To add a command, write a module with a Typer app (see `version.py`) or a plain function, and add its
line to `COMMANDS`.
"""

from __future__ import annotations

import io
import sys
from typing import Annotated, Any

import typer

from tidings.cli.lazy import lazy_app

COMMANDS: dict[str, str] = {
    "acp": "tidings.cli.acp:app",
    "acp-proxy": "tidings.cli.acp_proxy:app",
    "bridge": "tidings.cli.bridge:app",
    "clear": "tidings.cli.clear:app",
    "connect": "tidings.cli.connect:app",
    "completion": "tidings.cli.completion:app",
    "consent": "tidings.cli.consent:app",
    "demo": "tidings.cli.demo:demo",
    "detach": "tidings.cli.detach:app",
    "disconnect": "tidings.cli.disconnect:app",
    "doctor": "tidings.cli.doctor:app",
    "down": "tidings.cli.down:app",
    "explain": "tidings.cli.explain:app",
    "hook": "tidings.cli.hook.command:app",
    "init": "tidings.cli.init:app",
    "lint": "tidings.cli.lint:app",
    "log": "tidings.cli.log:app",
    "mcp": "tidings.cli.mcp:app",
    "memory": "tidings.cli.memory:app",
    "panel": "tidings.cli.panel:app",
    "pending": "tidings.cli.pending:app",
    "purge": "tidings.cli.purge:app",
    "remind": "tidings.cli.remind:app",
    "replay": "tidings.cli.replay:app",
    "revoke": "tidings.cli.revoke:app",
    "sessions": "tidings.cli.sessions:app",
    "status": "tidings.cli.status:app",
    "up": "tidings.cli.up:app",
    "version": "tidings.cli.version:app",
    "watch": "tidings.cli.watch:app",
    "workspaces": "tidings.cli.workspaces:app",
}
"""Each command and its home, `module:name`, in the order of `tidings --help`."""

_HELP = "Tell a running AI agent what just happened around it."

app = lazy_app(COMMANDS, _HELP)


def _show_version(asked: bool) -> None:
    if asked:
        from tidings.version import __version__

        typer.echo(f"tidings {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and leave."
        ),
    ] = False,
) -> None: ...


def root() -> Any:
    """The whole command line as one command, for who reads it."""
    return typer.main.get_command(app)


def run() -> None:
    """Run the command line; the console script `tidings` calls this."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    app(prog_name="tidings")
