"""`tidings up`: run this user's hub, or attach this folder to the one that runs.

In the foreground it tells what happens, line by line (`telling.py`). A detached hub is the same command in
a process of its own.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from tidings.bridge.rpc import RpcError
from tidings.cli.folder import attached, problems, project_folder, this_folder, told
from tidings.cli.hubbing import AsJson
from tidings.cli.lazy import BAD_NEWS, command_app
from tidings.cli.panel import is_private, link
from tidings.core.reminder import Payload
from tidings.diagnostics.visible import visible
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

tidings up --demo
"""

app = command_app()


class Saying(msgspec.Struct, frozen=True):
    """How to say what there is."""

    as_json: bool
    quiet: bool


@app.command(epilog=_EXAMPLES)
def up(
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, metavar="PORT", help="The port; 0 takes a free one.")
    ] = DEFAULT_PORT,
    detach: Annotated[bool, typer.Option("--detach", help="Run in the background.")] = False,
    attach: Annotated[
        bool, typer.Option("--attach/--no-attach", help="Attach this folder and its tidings.toml.")
    ] = True,
    quiet: Annotated[bool, typer.Option("--quiet", help="Do not tell what happens.")] = False,
    demo: Annotated[
        bool, typer.Option("--demo", help="Show it at work: a workspace, its watchers and an agent.")
    ] = False,
    once: Annotated[bool, typer.Option("--once", help="With --demo: end when the play is over.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run the hub of this user until Ctrl-C, or attach this folder to the one that runs.

    There is one hub for each user. It listens on 127.0.0.1 and on a Unix socket, and keeps what it accepted
    in the user's data folder (TIDINGS_HOME). The folder is attached with its tidings.toml, the nearest one
    at or above it: what it watches reaches the sessions that work there.

    Exit code: 0 when it was stopped or runs elsewhere, 1 if the tidings.toml has problems or the agent of
    `--demo --once` did not hear everything, 2 if the hub cannot start.
    """
    place = place_of()
    if demo or once:
        _demo(place, port, once)
        return
    folder = project_folder(this_folder()) if attach else None
    saying = Saying(as_json, quiet)
    if is_running(place):
        state = _waited_for(place)
        _not_there(state, port)
        _join(state, "runs already", place, folder, saying)
    elif detach:
        _start(place, port)
        _join(_waited_for(place), "runs in the background", place, folder, saying)
    else:
        _serve(place, port, folder, saying)


def _not_there(state: State, port: int) -> None:
    """Say that the port which was asked for is not the running hub's."""
    if port not in (0, DEFAULT_PORT) and not state.url.endswith(f":{port}"):
        fix = "stop it first: tidings down"
        typer.echo(f"tidings: --port {port} is not used: the hub runs at {state.url}; {fix}", err=True)


def _join(state: State, how: str, place: Place, folder: Path | None, saying: Saying) -> None:
    row = None if folder is None else asyncio.run(_attach(place, folder))
    _say(state, how, place, row, saying)
    if (row is None and folder is not None) or problems(row or {}):
        raise typer.Exit(BAD_NEWS)


async def _attach(place: Place, folder: Path) -> Payload | None:
    """The row of the attached folder; None when the hub refused it, which is said."""
    try:
        return await attached(place, folder)
    except (HubError, RpcError) as error:
        typer.echo(f"tidings: {visible(str(folder))} is not attached: {visible(str(error))}", err=True)
        return None


def _serve(place: Place, port: int, folder: Path | None, saying: Saying) -> None:
    try:
        from tidings.hub.daemon import serve
    except ModuleNotFoundError as error:
        raise HubError(f"the hub needs {error.name}: pip install 'tidings[hub]'") from error
    from tidings.cli.telling import Teller, writer

    teller = Teller(place.database, writer())
    company: list[asyncio.Task[None]] = []

    async def greet(state: State) -> None:
        row = None if folder is None else await _attach(place, folder)
        _say(state, "is up; Ctrl-C stops it", place, row, saying)
        if not saying.quiet and not saying.as_json:
            teller.start()

    async def run() -> None:
        stop = asyncio.Event()
        for end in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(end, stop.set)
        await serve(place, port, lambda state: company.append(asyncio.create_task(greet(state))), stop)
        for task in company:
            task.cancel()
        await asyncio.wait(company)
        for task in company:
            if not task.cancelled():
                task.result()

    os.umask(0o077)
    try:
        asyncio.run(run())
    finally:
        teller.stop()


def _demo(place: Place, port: int, once: bool) -> None:
    try:
        from tidings.cli.showing.command import demo
    except ModuleNotFoundError as error:
        raise HubError(f"the demo needs {error.name}: pip install 'tidings[hub,watch]'") from error
    heard = demo(place, port, once=once)
    if once and not heard:
        raise typer.Exit(BAD_NEWS)


def _start(place: Place, port: int) -> None:
    prepare(place)
    with place.output_file.open("wb") as output:
        place.output_file.chmod(0o600)
        child = subprocess.Popen(
            [sys.executable, "-c", _RUN, "up", "--port", str(port), "--no-attach", "--quiet"],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            cwd="/",
        )
    until = time.monotonic() + STARTING_SECONDS
    while not _stands(place):
        if child.poll() is not None:
            said = place.output_file.read_text(errors="replace").strip()
            raise HubError(f"the hub did not start: {said[-1000:].removeprefix('tidings: ')}")
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


def _say(state: State, how: str, place: Place, row: Payload | None, saying: Saying) -> None:
    if saying.as_json:
        found = {**msgspec.to_builtins(state), "tokenFile": str(place.token_file), "workspace": row}
        typer.echo(json.dumps(found))
    else:
        typer.echo(f"the hub {how}: {state.url} (process {state.pid}, token in {place.token_file})")
        if is_private():
            typer.echo(f"the panel: {link(place, state)}")
        for line in told(row) if row is not None else ():
            typer.echo(line)
        for problem in problems(row or {}):
            typer.echo(f"tidings: {problem}", err=True)
    sys.stdout.flush()
