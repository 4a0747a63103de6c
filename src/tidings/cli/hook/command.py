"""`tidings hook`: what a coding agent's hooks run. People do not type it; `tidings connect` installs it."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from tidings.cli.lazy import command_app
from tidings.core.producers import shown
from tidings.errors import CallerError
from tidings.hosts.happening import HOSTS

MCP = "mcp"

app = command_app()

_EXAMPLES = """\
[bold]Examples[/bold]

tidings hook claude-code < payload.json

tidings hook mcp
"""


@app.command(epilog=_EXAMPLES)
def hook(
    caller: Annotated[
        str, typer.Argument(metavar="HOST", help="claude-code, codex, gemini, opencode, or mcp.")
    ],
    home: Annotated[
        str | None, typer.Option("--home", metavar="DIR", help="The hub's data folder.")
    ] = None,
    seconds: Annotated[
        float, typer.Option("--seconds", min=0.1, max=60, help="How long to wait for the hub.")
    ] = 1.0,
    wake: Annotated[
        bool, typer.Option("--wake", help="Wait until something should wake the idle session.")
    ] = False,
    monitor: Annotated[
        bool, typer.Option("--monitor", help="Stay beside a session of Claude Code; print what wakes it.")
    ] = False,
) -> None:
    """Answer a hook of a coding agent: its payload on stdin, the answer on stdout.

    If the hub is down or too slow, the answer is one that changes nothing. With mcp it is an MCP server at
    stdin and stdout with the tool drain, for hosts whose hooks can call tools.

    Exit code: 0; 1 if the arguments are wrong; with --wake 2 when there is news, which stands on stderr.
    With --monitor nothing is read from stdin, and it ends with the program that started it.
    """
    if caller == MCP:
        from tidings.cli.hook.mcp import run

        run(_socket(home))
    elif caller not in HOSTS:
        raise CallerError(f"HOST is {shown(caller)}; give one of {', '.join((*HOSTS, MCP))}")
    elif monitor:
        from tidings.cli.hook.wake import watch

        raise typer.Exit(watch(caller, home, os.environ))
    elif wake:
        from tidings.cli.hook.wake import wait

        raise typer.Exit(wait(caller, home))
    else:
        from tidings.cli.hook.call import main

        named = [] if home is None else ["--home", home]
        raise typer.Exit(main([caller, *named, "--seconds", f"{seconds:g}"]))


def _socket(home: str | None) -> str:
    from tidings.cli.hook.call import Unusable, socket_path

    try:
        return socket_path(home, os.environ)
    except (Unusable, OSError) as error:
        raise CallerError("the folder for sockets cannot be used; run `tidings up` first") from error
