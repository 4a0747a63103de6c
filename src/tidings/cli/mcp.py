"""`tidings mcp`: look at Model Context Protocol servers as a host of ours sees them."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from tidings.cli.lazy import BAD_NEWS, command_app, lazy_app
from tidings.core.reminder import Payload
from tidings.diagnostics.visible import visible
from tidings.errors import CallerError
from tidings.mcp.config import ConfigError, Era, Server, read_config

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS: dict[str, str] = {"inspect": "tidings.cli.mcp:inspect_app"}

app = lazy_app(COMMANDS, "Look at MCP servers: what they can do, what they push, and what becomes of it.")
inspect_app = command_app()

_EXAMPLES = """\
[bold]Examples[/bold]

tidings mcp inspect --config mcp.json build-watcher

tidings mcp inspect http://127.0.0.1:8000/mcp --for 60

tidings mcp inspect --json --count 10 -- python server.py --verbose
"""


@app.callback()
def _options() -> None: ...


@inspect_app.command(epilog=_EXAMPLES)
def inspect(
    target: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SERVER",
            help="A name of the config, a url, or after -- a command to start and its arguments.",
            show_default=False,
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option("--config", metavar="FILE", help='The file that names it, with {"mcpServers": …}.'),
    ] = None,
    era: Annotated[
        str, typer.Option("--era", metavar="ERA", help="auto, modern or legacy: how to speak to it.")
    ] = "auto",
    seconds: Annotated[
        float | None, typer.Option("--for", metavar="SECONDS", help="End after so long.", min=0.001)
    ] = None,
    count: Annotated[
        int | None, typer.Option("--count", metavar="N", help="End after so many notifications.", min=1)
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object per line, for a program to read.")
    ] = False,
) -> None:
    """Connect to an MCP server and show live what it pushes, and what a session does with it.

    First its era, its capabilities, whether it advertises reminders, and what it asks to see of the
    conversation. Then every notification, and whether it was accepted, lowered to what it may have, or
    dropped and why. Ctrl-C ends it.

    Exit code: 0 when it was reached, 1 if not, 2 if the question was wrong.
    """
    if find_spec("mcp") is None:
        raise CallerError("tidings mcp needs the MCP SDK: pip install 'tidings[mcp]'")
    server = choose(target or (), config, era)
    from tidings.mcp.host.inspect import Inspection, as_line  # takes a second to load

    logging.basicConfig(level=logging.ERROR, format="tidings: %(message)s")

    def tell(event: Payload) -> None:
        typer.echo(json.dumps(event) if as_json else visible(as_line(event)))

    async def look() -> bool:
        return await Inspection(server, tell).run(seconds=seconds, count=count)

    with suppress(KeyboardInterrupt):
        if not asyncio.run(look()):
            raise typer.Exit(BAD_NEWS)


def choose(target: Sequence[str], config: Path | None, era: str) -> Server:
    """The server that the arguments mean.

    Raises:
        ConfigError: there is none, or its config is wrong.
    """
    chosen = _era(era)
    if config is not None:
        server = _configured(target, config)
        return server if chosen == "auto" else msgspec.structs.replace(server, era=chosen)
    if not target:
        raise ConfigError("name a server: a url, a command after --, or a name together with --config")
    if len(target) == 1 and target[0].startswith(("http://", "https://")):
        return Server(name="server", url=target[0], era=chosen)
    return Server(name=Path(target[0]).name, command=tuple(target), era=chosen)


def _era(era: str) -> Era:
    if era in ("auto", "modern", "legacy"):
        return era  # type: ignore[return-value]
    raise ConfigError(f"--era must be auto, modern or legacy; got {era!r}")


def _configured(target: Sequence[str], config: Path) -> Server:
    try:
        decoded = msgspec.json.decode(config.read_bytes())
    except OSError as error:
        raise ConfigError(f"--config {str(config)!r} cannot be read: {error.strerror}") from error
    except msgspec.DecodeError as error:
        raise ConfigError(f"--config {str(config)!r} is not JSON: {error}") from error
    servers = {server.name: server for server in read_config(decoded, os.environ)}
    known = ", ".join(servers) or "none"
    if len(target) != 1 or target[0] not in servers:
        raise ConfigError(f"with --config give the name of one server; the file has {known}")
    return msgspec.structs.replace(servers[target[0]], enabled=True)
