"""`tidings down`: stop this user's hub."""

from __future__ import annotations

import json
import time

import typer

from tidings.cli.hubbing import AsJson, ask
from tidings.cli.lazy import command_app
from tidings.hub.failure import HubError
from tidings.hub.place import Place, is_running, place_of

STOPPING_SECONDS = 20.0
_STEP_SECONDS = 0.05

app = command_app()


@app.command()
def down(as_json: AsJson = False) -> None:
    """Stop the hub; what it accepted and could not deliver waits for its next start."""
    place = place_of()
    runs = is_running(place)
    if runs:
        ask("stop", {}, place)
        _wait(place)
    told = "the hub has stopped" if runs else "no hub runs"
    typer.echo(json.dumps({"stopped": runs}) if as_json else told)


def _wait(place: Place) -> None:
    until = time.monotonic() + STOPPING_SECONDS
    while is_running(place):
        if time.monotonic() > until:
            raise HubError(f"the hub did not stop within {STOPPING_SECONDS:g} s; `tidings status` names it")
        time.sleep(_STEP_SECONDS)
