"""`tidings doctor`: what is wrong with the set-up, and how to mend it. The checks are in `table.py`."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
import typer

from tidings.bridge.rpc import RpcError
from tidings.cli.doctor.finding import SECONDS, Finding, Here, Level
from tidings.cli.doctor.table import findings
from tidings.cli.folder import project_folder, this_folder
from tidings.cli.hubbing import AsJson
from tidings.cli.lazy import BAD_NEWS, command_app
from tidings.core.reminder import Payload
from tidings.hub.client import ask
from tidings.hub.failure import HubError
from tidings.hub.place import Place, is_running, place_of, read_state

MARKS: dict[Level, tuple[str, str]] = {
    "ok": ("ok", "green"),
    "note": ("note", "yellow"),
    "problem": ("PROBLEM", "bold red"),
}
"""How each level is written, and its colour."""

app = command_app()


@app.command()
def doctor(as_json: AsJson = False) -> None:
    """Look at the whole set-up: this machine, the hub, this folder, and who is reached.

    It changes nothing. Each problem says how to mend it.

    Exit code: 0 if nothing is broken, 1 if something is.
    """
    found = list(findings(look(place_of(), project_folder(this_folder()))))
    well = all(one.level != "problem" for one in found)
    if as_json:
        typer.echo(json.dumps({"ok": well, "findings": msgspec.to_builtins(found)}))
    elif sys.stdout.isatty():
        _draw(found)
    else:
        for one in found:
            typer.echo(_line(one))
    if not well:
        raise typer.Exit(BAD_NEWS)


def look(place: Place, folder: Path) -> Here:
    """What all checks look at; the hub is asked once."""
    here = Here(place=place, folder=folder, running=_runs(place), state=read_state(place))
    if here.running:
        here.status, here.workspaces, here.sessions = asyncio.run(_asked(place))
    return here


def _runs(place: Place) -> bool:
    """Whether a hub runs, as far as one may know: a folder that cannot be read is a finding of its own."""
    try:
        return is_running(place)
    except HubError:
        return False


async def _asked(place: Place) -> tuple[Payload | None, ...]:
    return tuple([await _answer(place, name) for name in ("status", "workspaces", "sessions")])


async def _answer(place: Place, name: str) -> Payload | None:
    try:
        return await ask(place.socket, f"hub/{name}", {}, SECONDS)
    except (HubError, RpcError):
        return None


def _line(one: Finding) -> str:
    fix = f" -> {one.fix}" if one.fix and one.level != "ok" else ""
    return f"{MARKS[one.level][0]:<7}  {one.check:<12}  {one.message}{fix}"


def _draw(found: Sequence[Finding]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, show_header=False)
    for one in found:
        word, style = MARKS[one.level]
        said = Text(one.message)
        if one.fix and one.level != "ok":
            said.append(f"\n{one.fix}", "bold")
        table.add_row(Text(word, style), Text(one.check), said)
    Console().print(table)
