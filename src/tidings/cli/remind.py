"""`tidings remind`: send one reminder to running agents, through a socket of one of them or the hub.

A destination takes the parameters and gives the result: the socket of whatever serves an agent, or the hub,
which finds the sessions meant. What the other side checks is not checked here twice: its refusals are
shown with their code.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from tidings.bridge.door.call import call
from tidings.bridge.door.failure import DoorError
from tidings.bridge.door.place import VARIABLE, answers, find, runtime_folder
from tidings.bridge.rpc import INVALID_PARAMS, METHOD_NOT_FOUND, UNKNOWN_SESSION, RpcError
from tidings.cli.lazy import BAD_NEWS, WRONG_QUESTION, command_app
from tidings.core.reminder import Payload
from tidings.diagnostics.visible import visible
from tidings.errors import CallerError
from tidings.hub.failure import HubError
from tidings.hub.place import place_of

Destination: TypeAlias = Callable[[Mapping[str, object]], Payload]

METHOD = "session/inject_reminder"
HUB_METHOD = "hub/remind"
LONGEST_BODY = 256 * 1024
"""How many bytes are sent at most; the receiver cuts at what it allows a host, which is less."""

_OURS_TO_MEND = (INVALID_PARAMS, METHOD_NOT_FOUND, UNKNOWN_SESSION)
_EXAMPLES = """\
[bold]Examples[/bold]

tidings remind "The build is red." --dedupe-key build --ttl 1

make test 2>&1 | tail -20 | tidings remind - --tag tests

tidings remind "Stop: the disk is full." --mode interrupt_immediate --session 01J9

tidings remind "Staging is down until noon." --all --deliver-within 7200
"""

app = command_app()


@app.command(epilog=_EXAMPLES)
def remind(
    body: Annotated[
        str | None,
        typer.Argument(metavar="BODY", help="What happened, in a sentence; - reads standard input."),
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", metavar="PATH", help="Read the body from this file.")
    ] = None,
    socket: Annotated[
        str | None,
        typer.Option(
            "--socket", metavar="PATH", help="The agent's socket. Default: the one of this workspace."
        ),
    ] = None,
    session: Annotated[
        str | None,
        typer.Option("--session", metavar="ID", help="The session. Default: the only one there is."),
    ] = None,
    workspace: Annotated[
        Path | None,
        typer.Option("--workspace", metavar="PATH", help="All sessions that work there, through the hub."),
    ] = None,
    to_tag: Annotated[
        str | None,
        typer.Option("--to-tag", metavar="TAG", help="All sessions with this tag, through the hub."),
    ] = None,
    everyone: Annotated[bool, typer.Option("--all", help="All sessions, through the hub.")] = False,
    deliver_within: Annotated[
        float | None,
        typer.Option(
            "--deliver-within", metavar="SECONDS", help="How long the hub tries. Default: 600 seconds."
        ),
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", metavar="TAG", help="A tag; repeat for more.")
    ] = None,
    dedupe_key: Annotated[
        str | None,
        typer.Option("--dedupe-key", metavar="KEY", help="Take the place of waiting ones with this key."),
    ] = None,
    ttl: Annotated[
        int | None, typer.Option("--ttl", metavar="TURNS", help="Leave after this many turns.")
    ] = None,
    mode: Annotated[
        str | None,
        typer.Option("--mode", metavar="MODE", help="finish_step, interrupt_immediate or audit_only."),
    ] = None,
    role_hint: Annotated[
        str | None,
        typer.Option(
            "--role-hint", metavar="HINT", help="system, developer, user_block or ephemeral_cache."
        ),
    ] = None,
    propagate: Annotated[
        str | None, typer.Option("--propagate", metavar="HOW", help="all, session or none.")
    ] = None,
    preserve: Annotated[bool, typer.Option("--preserve", help="Survive compaction.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the whole answer as one JSON object.")
    ] = False,
) -> None:
    """Send a reminder to a running agent.

    Without an address it goes to the agent of this workspace, or to the hub when no agent has a socket of
    its own.
    """
    to = address(session, workspace, to_tag, everyone)
    send = destination(socket, to, deliver_within)
    options: Payload = {
        "body": read_body(body, file),
        "tags": tag or None,
        "dedupeKey": dedupe_key,
        "ttlTurns": ttl,
        "mode": mode,
        "roleHint": role_hint,
        "propagate": propagate,
        "preserveOnCompact": preserve or None,
    }
    given = {name: value for name, value in options.items() if value is not None}
    try:
        result = send(given)
    except RpcError as error:
        typer.echo(f"tidings: {visible(refusal(error))}", err=True)
        raise typer.Exit(WRONG_QUESTION if error.code in _OURS_TO_MEND else BAD_NEWS) from None
    typer.echo(json.dumps(result) if as_json else accepted(result))


def address(session: str | None, workspace: Path | None, to_tag: str | None, everyone: bool) -> Payload:
    """Whom it is for, as the hub reads it; empty when nobody is named.

    Raises:
        CallerError: more than one is named.
    """
    place = None if workspace is None else os.path.abspath(workspace)
    named = {"session": session, "workspace": place, "tag": to_tag, "all": everyone or None}
    given: Payload = {name: value for name, value in named.items() if value is not None}
    if len(given) > 1:
        raise CallerError("give one of --session, --workspace, --to-tag and --all")
    return given


def destination(socket: str | None, to: Payload, within: float | None) -> Destination:
    """Where the reminder goes: what only the hub can do goes there, else an agent's socket comes first.

    Raises:
        CallerError: a socket is named, and something that only the hub can do.
        DoorError: no socket is named and there is not exactly one.
    """
    only_hub = bool(to.keys() - {"session"}) or within is not None
    if only_hub and socket is not None:
        raise CallerError(
            "--socket names one agent; --workspace, --to-tag, --all and --deliver-within need the hub"
        )
    if only_hub or (socket is None and _hub_alone()):
        return to_hub(to or {"workspace": os.getcwd()}, within)
    return to_door(socket, to)


def _hub_alone() -> bool:
    """Whether a hub runs and no agent has a socket of its own."""
    if os.environ.get(VARIABLE) or not place_of().answers:
        return False
    folder = runtime_folder()
    doors = (os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".sock"))
    return not any(map(answers, doors))


def to_hub(to: Payload, within: float | None) -> Destination:
    """The hub, which gives it to the sessions of that address."""
    path = place_of().socket
    envelope = {"to": to} if within is None else {"to": to, "deliverWithin": within}

    def send(params: Mapping[str, object]) -> Payload:
        try:
            return call(path, HUB_METHOD, {**params, **envelope})
        except DoorError as error:
            raise HubError(f"no hub answers ({error}); start one with `tidings up`") from error

    return send


def to_door(socket: str | None, to: Payload) -> Destination:
    """The socket of one agent.

    Raises:
        DoorError: no socket is named and there is not exactly one.
    """
    path = socket or find()
    about = {"sessionId": to["session"]} if to else {}

    def send(params: Mapping[str, object]) -> Payload:
        try:
            return call(path, METHOD, {**about, **params})
        except DoorError as error:
            if socket or path != os.environ.get(VARIABLE):
                raise
            raise DoorError(f"{error} (the variable {VARIABLE} names it)") from error

    return send


def read_body(argument: str | None, file: Path | None) -> str:
    """The body: the argument, standard input for `-`, or the file.

    Raises:
        CallerError: none or both are given, the file cannot be read, or it is too long.
    """
    if (argument is None) == (file is None):
        raise CallerError("give the body as an argument, as - for standard input, or with --file")
    if file is not None:
        try:
            data = file.read_bytes()
        except OSError as error:
            raise CallerError(f"--file {str(file)!r} cannot be read: {error.strerror}") from error
    elif argument == "-":
        data = sys.stdin.buffer.read(LONGEST_BODY + 1)
    else:
        data = (argument or "").encode(errors="replace")
    if len(data) > LONGEST_BODY:
        raise CallerError(f"the body has more than {LONGEST_BODY} bytes; a reminder is a few sentences")
    return data.decode(errors="replace")


def refusal(error: RpcError) -> str:
    """Why it was refused, with its code, and the sessions to choose from if that is the question."""
    data = error.data or {}
    sessions, code = data.get("sessions"), data.get("code")
    text = error.message
    if isinstance(code, str) and code not in text:
        text = f"{code}: {text}"
    if isinstance(sessions, list):
        listed = ", ".join(str(name) for name in sessions) or "none is open yet"
        text += f"; choose one with --session ({listed})"
    return text


def accepted(result: Payload) -> str:
    """One line for people."""
    count = result.get("dedupedCount")
    replaced = f", takes the place of {count}" if isinstance(count, int) and count else ""
    sessions = result.get("sessions")
    reached = ""
    if isinstance(sessions, list):
        reached = f" for {', '.join(map(str, sessions))}" if sessions else ", waits for a session to come"
    return visible(f"reminder {result.get('reminderId')}{replaced}{reached}")
