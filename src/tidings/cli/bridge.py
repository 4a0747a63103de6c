"""`tidings bridge`: the agent for a host of your own, over plain newline JSON-RPC on stdin and stdout."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, TypeAlias

import msgspec
import typer

from tidings.bridge.served.peer import Read, Write
from tidings.bridge.served.run import Settings
from tidings.bridge.served.settings import MODEL_VARIABLE, open_settings
from tidings.bridge.served.stdio import Signals, Stdio, private_stdio
from tidings.cli.joining import NoHub, hub_join
from tidings.cli.lazy import command_app

app = command_app()
_EXAMPLES = """\
[bold]Examples[/bold]

tidings bridge --model anthropic/claude-opus-5

tidings bridge --model scripted:done --log memory:

docs/how-to/bridge.md describes every method, with a small host that runs.
"""

ModelName: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="NAME",
        help="The model: anthropic/…, openai/…, openai-responses/…, gemini/…, openai-compatible/… or "
        f"scripted:…; else the variable {MODEL_VARIABLE}.",
        show_default=False,
    ),
]
LogAddress: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--log",
        metavar="ADDRESS",
        help="Where sessions are kept: a file, sqlite:///file.db or memory:. Default: sessions.db in the "
        "user's data folder ($XDG_DATA_HOME/tidings, ~/.local/share/tidings).",
        show_default=False,
    ),
]
SystemFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--system",
        metavar="FILE",
        help="The system text; {root} in it becomes the session's folder. Default: a short one for coding.",
        show_default=False,
    ),
]
BaseUrl: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--base-url",
        metavar="URL",
        help="The model server's address, if not the vendor's.",
        show_default=False,
    ),
]

Serve: TypeAlias = Callable[[Read, Write, Settings], Awaitable[None]]


@app.command(epilog=_EXAMPLES)
def bridge(
    model: ModelName = None,
    log: LogAddress = None,
    system: SystemFile = None,
    base_url: BaseUrl = None,
    no_hub: NoHub = False,
) -> None:
    """Serve sessions of the agent to the program that started this one.

    One JSON-RPC message per line on stdin and stdout; logging goes to stderr. Sessions are made, loaded,
    prompted and reminded; text, tool calls and what becomes of reminders come back as they happen. It ends
    when stdin does, and in order when a signal asks for it. When the hub runs (`tidings up`), the sessions
    join it.

    Exit code: 0 when the host closed, 128 + n after signal n, 2 if a model, its SDK, its key or the log is
    missing.
    """
    from tidings.bridge.served.plain import serve

    with open_settings(model=model, log=log, system=system, base_url=base_url) as settings:
        serve_stdio(serve, msgspec.structs.replace(settings, join=hub_join("bridge", no_hub)))


def serve_stdio(serve: Serve, settings: Settings) -> None:
    """Serve whoever is at the other end of stdin and stdout, until it closes or a signal asks for the end.

    Raises:
        Exit: with 128 and the number of the signal.
    """
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="tidings: %(message)s")

    async def run(source: int, sink: int) -> int | None:
        pipes = Stdio(source, sink)
        signals = Signals(pipes.end)
        await serve(pipes.read, pipes.write, settings)
        return signals.number

    with private_stdio() as (source, sink):
        stopped_by = asyncio.run(run(source, sink))
    if stopped_by is not None:
        raise typer.Exit(128 + stopped_by)
