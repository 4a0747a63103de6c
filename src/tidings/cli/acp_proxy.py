"""`tidings acp-proxy`: reminders for an ACP agent that knows none. Declares the options, for people.

The console script takes a shorter way (`start.py`); this file is for `--help`, the docs, and callers
of the Typer app.
"""

from __future__ import annotations

from typing import Annotated

import typer

from tidings.acp.proxy.options import Options
from tidings.cli.joining import NoHub
from tidings.cli.lazy import command_app

app = command_app()
_EXAMPLES = """\
[bold]Examples[/bold]

tidings acp-proxy -- npx @agentclientprotocol/claude-agent-acp

tidings acp-proxy --log reminders.db -- codex-acp

tidings acp-proxy --socket /tmp/me/agent.sock -- gemini --acp
"""


@app.command(epilog=_EXAMPLES)
def acp_proxy(
    command: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="-- COMMAND",
            help="The agent and its arguments. Without it: a proxy in a conductor's chain.",
            show_default=False,
        ),
    ] = None,
    socket: Annotated[
        str | None,
        typer.Option(
            "--socket", metavar="PATH", help="Where programs send reminders. Default: in a private folder."
        ),
    ] = None,
    log: Annotated[
        str | None,
        typer.Option("--log", metavar="ADDRESS", help="Keep reminders in this event log, across restarts."),
    ] = None,
    no_socket: Annotated[
        bool, typer.Option("--no-socket", help="Open no socket: the editor alone sends reminders.")
    ] = False,
    no_rfc: Annotated[
        bool,
        typer.Option(
            "--no-rfc", help="Advertise under `_meta` only, not as `agentCapabilities.reminders`."
        ),
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Do not print the socket's path.")] = False,
    no_hub: NoHub = False,
) -> None:
    """Sit between an editor and an ACP agent, and add reminders."""
    from tidings.acp.proxy.run import run
    from tidings.cli.interposed import join

    options = Options(tuple(command or ()), socket, log, no_socket, no_rfc, quiet, no_hub)
    raise typer.Exit(run(options, join))
