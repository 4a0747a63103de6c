"""`tidings up`: run this user's hub, or attach to the one that runs."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from typing import Annotated

import msgspec
import typer

from tidings.cli.hubbing import AsJson
from tidings.cli.lazy import command_app
from tidings.hub.failure import HubError
from tidings.hub.place import Place, State, is_running, place_of, prepare, read_state

DEFAULT_PORT = 4664
STARTING_SECONDS = 20.0
_STEP_SECONDS = 0.05
_RUN = "from tidings.cli.start import run; run()"
_EXAMPLES = """\
[bold]Examples[/bold]

tidings up

tidings up --detach && tidings remind "The build is red." --all
"""

app = command_app()


@app.command(epilog=_EXAMPLES)
def up(
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, metavar="PORT", help="The port; 0 takes a free one.")
    ] = DEFAULT_PORT,
    detach: Annotated[bool, typer.Option("--detach", help="Run in the background.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run the hub of this user until Ctrl-C, or say where the running one is.

    There is one hub for each user. It listens on 127.0.0.1 and on a Unix socket, and keeps what it accepted
    in the user's data folder (TIDINGS_HOME).
    """
    place = place_of()
    if is_running(place):
        _say(_waited_for(place), "runs already", as_json, place)
    elif detach:
        _start(place, port)
        _say(_waited_for(place), "runs in the background", as_json, place)
    else:
        _serve(place, port, as_json)


def _serve(place: Place, port: int, as_json: bool) -> None:
    try:
        from tidings.hub.daemon import serve
    except ModuleNotFoundError as error:
        raise HubError(f"the hub needs {error.name}: pip install 'tidings[hub]'") from error

    async def run() -> None:
        stop = asyncio.Event()
        for end in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(end, stop.set)
        await serve(place, port, lambda state: _say(state, "is up; Ctrl-C stops it", as_json, place), stop)

    os.umask(0o077)
    asyncio.run(run())


def _start(place: Place, port: int) -> None:
    prepare(place)
    with place.output_file.open("wb") as output:
        place.output_file.chmod(0o600)
        child = subprocess.Popen(
            [sys.executable, "-c", _RUN, "up", "--port", str(port)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            cwd="/",
        )
    until = time.monotonic() + STARTING_SECONDS
    while not _stands(place):
        if child.poll() is not None:
            told = place.output_file.read_text(errors="replace").strip()
            raise HubError(f"the hub did not start: {told[-1000:]}")
        if time.monotonic() > until:
            child.terminate()
            raise HubError(f"the hub did not start within {STARTING_SECONDS:g} s; see {place.output_file}")
        time.sleep(_STEP_SECONDS)


def _stands(place: Place) -> bool:
    """Whether a hub answers and has said where; what a dead one said does not count."""
    return place.answers and read_state(place) is not None


def _waited_for(place: Place) -> State:
    """Where the running hub is; one that is just starting is waited for."""
    until = time.monotonic() + STARTING_SECONDS
    while True:
        state = read_state(place) if _stands(place) else None
        if state is not None:
            return state
        if time.monotonic() > until:
            text = "a process holds the hub's lock and does not answer; end it, then run `tidings up` again"
            raise HubError(f"{text} ({place.lock_file})")
        time.sleep(_STEP_SECONDS)


def _say(state: State, how: str, as_json: bool, place: Place) -> None:
    if as_json:
        told = {**msgspec.to_builtins(state), "tokenFile": str(place.token_file)}
        typer.echo(json.dumps(told))
    else:
        typer.echo(f"the hub {how}: {state.url} (process {state.pid}, token in {place.token_file})")
    sys.stdout.flush()
