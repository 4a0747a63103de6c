"""What the commands of the hub share: finding it, asking it, and showing rows as a table or as JSON.

On a terminal a table is drawn; in a pipe there are aligned lines; `--json` gives the whole answer. Text of
others never reaches a terminal raw: see `visible`.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, TypeAlias

import typer

from tidings.bridge.rpc import INTERNAL_ERROR, SERVER_BUSY, UNKNOWN_SESSION, RpcError
from tidings.cli.lazy import BAD_NEWS, WRONG_QUESTION
from tidings.core.producers import shown
from tidings.core.reminder import Payload
from tidings.diagnostics.visible import visible
from tidings.hub.client import ask as ask_hub
from tidings.hub.place import Place, place_of

AsJson: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print the whole answer as one JSON object.")
]

_NOT_OURS = (SERVER_BUSY, INTERNAL_ERROR)


Explain: TypeAlias = Callable[[RpcError], str | None]
"""What to say about a refusal instead of its message; None for that message."""


def ask(
    name: str, params: Mapping[str, object], place: Place | None = None, explain: Explain | None = None
) -> Payload:
    """What the running hub answers; a refusal is shown and ends the command.

    Raises:
        HubError: no hub runs.
    """
    socket = (place or place_of()).socket
    try:
        return asyncio.run(ask_hub(socket, f"hub/{name}", params))
    except RpcError as error:
        said = (None if explain is None else explain(error)) or _words(error)
        typer.echo(f"tidings: {said}", err=True)
        raise typer.Exit(BAD_NEWS if error.code in _NOT_OURS else WRONG_QUESTION) from None


def _words(error: RpcError) -> str:
    """A refusal in words; who types a session's id cannot register one."""
    if error.code == UNKNOWN_SESSION:
        name = (error.data or {}).get("sessionId")
        return visible(f"session {shown(name)} is not registered; `tidings sessions` lists those that are")
    return visible(error.message)


def show(
    answer: Payload,
    as_json: bool,
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    nothing: str | None = None,
) -> None:
    """Print an answer: as JSON, as a table, or as lines for a pipe; `nothing` is said of an empty one."""
    if as_json:
        typer.echo(json.dumps(answer))
        return
    if not rows and nothing is not None:
        typer.echo(f"tidings: {nothing}", err=True)
        return
    cells = [[visible(str(cell)) for cell in row] for row in rows]
    if sys.stdout.isatty():
        _table(columns, cells)
        return
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        typer.echo("  ".join(padded).rstrip())


def _table(columns: Sequence[str], cells: Sequence[Sequence[str]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*columns, box=None, header_style="bold")
    for row in cells:
        table.add_row(*(Text(cell) for cell in row))
    Console().print(table)


def listed(answer: Payload, name: str) -> list[Payload]:
    """The rows of an answer."""
    rows = answer.get(name)
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def addressed(to: object) -> str:
    """An address in words."""
    if not isinstance(to, dict) or len(to) != 1:
        return "-"
    name, value = next(iter(to.items()))
    return "all sessions" if name == "all" else f"{name} {value}"
