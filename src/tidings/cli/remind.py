"""`tidings remind`: send one reminder to a running agent, through the socket of whatever serves it.

A destination takes a method and its parameters and gives the result; a socket is the one there is. What
the other side checks is not checked here twice: its refusals are shown with their code.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from tidings.bridge.door.call import call
from tidings.bridge.door.place import find
from tidings.bridge.rpc import INVALID_PARAMS, METHOD_NOT_FOUND, UNKNOWN_SESSION, RpcError
from tidings.cli.lazy import BAD_NEWS, WRONG_QUESTION, command_app
from tidings.core.reminder import Payload
from tidings.diagnostics.visible import visible
from tidings.errors import CallerError

Destination: TypeAlias = Callable[[str, Mapping[str, object]], Payload]

METHOD = "session/inject_reminder"
LONGEST_BODY = 256 * 1024
"""How many bytes are sent at most; the receiver cuts at what it allows a host, which is less."""

_OURS_TO_MEND = (INVALID_PARAMS, METHOD_NOT_FOUND, UNKNOWN_SESSION)
_EXAMPLES = """\
[bold]Examples[/bold]

tidings remind "The build is red." --dedupe-key build --ttl 1

make test 2>&1 | tail -20 | tidings remind - --tag tests

tidings remind "Stop: the disk is full." --mode interrupt_immediate --session 01J9
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
    """Send a reminder to a running agent."""
    options: Payload = {
        "sessionId": session,
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
        result = destination(socket)(METHOD, given)
    except RpcError as error:
        typer.echo(f"tidings: {visible(refusal(error))}", err=True)
        raise typer.Exit(WRONG_QUESTION if error.code in _OURS_TO_MEND else BAD_NEWS) from None
    typer.echo(json.dumps(result) if as_json else accepted(result))


def destination(socket: str | None) -> Destination:
    """Where the reminder goes.

    Raises:
        DoorError: no socket is named and there is not exactly one.
    """
    path = socket or find()
    return lambda method, params: call(path, method, params)


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
    return f"reminder {result.get('reminderId')}{replaced}"
