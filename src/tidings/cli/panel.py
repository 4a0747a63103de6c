"""`tidings panel`: open the hub's page in the browser, signed in.

The link that signs in holds the hub's token. It is shown on a terminal only: what goes into a pipe often
ends in a log, or before a model. A browser gets it through a file that only its owner can read, because
everybody on the machine can see the arguments of a process.
"""

from __future__ import annotations

import json
import os
import sys
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from tidings.cli.hubbing import AsJson
from tidings.cli.lazy import command_app
from tidings.hub.failure import HubError
from tidings.hub.place import Place, State, is_running, place_of, read_state, token_of

_PAGE = """\
<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0;url={link}"><title>Tidings</title>
"""

app = command_app()


@app.command()
def panel(
    only_print: Annotated[bool, typer.Option("--print", help="Print the link and open nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Open the panel in the browser: what reaches which session, and why.

    The link signs in, so that it is printed on a terminal only.
    """
    place = place_of()
    state = read_state(place) if is_running(place) else None
    if state is None:
        raise HubError("no hub runs; start one with `tidings up`")
    if as_json:
        typer.echo(json.dumps({"url": state.url, "tokenFile": str(place.token_file)}))
    elif only_print:
        _print(place, state)
    elif not webbrowser.open(_door(place, state).as_uri()):
        raise HubError(f"no browser could be opened; open {state.url} yourself, or use --print")
    else:
        typer.echo(f"opened {state.url}")


def _print(place: Place, state: State) -> None:
    if is_private():
        typer.echo(link(place, state))
        return
    typer.echo(state.url)
    text = f"the link that signs in is printed on a terminal only; the token is in {place.token_file}"
    typer.echo(f"tidings: {text}", err=True)


def _door(place: Place, state: State) -> Path:
    """A page for the owner's eyes that leads to the panel."""
    path = place.home / "panel.html"
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "w") as file:
        file.write(_PAGE.format(link=link(place, state)))
    return path


def link(place: Place, state: State) -> str:
    """The address of the panel, with what signs in.

    Raises:
        HubError: the token cannot be read.
    """
    return f"{state.url}/#token={token_of(place)}"


def is_private() -> bool:
    """Whether what we print is seen by the owner alone: on a terminal."""
    return sys.stdout.isatty()
