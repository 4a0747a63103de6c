"""`tidings clear`: take back all reminders that match, on their way and in sessions."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from tidings.cli.hubbing import AsJson, ask, listed
from tidings.cli.lazy import command_app
from tidings.cli.takeback import KEPT, OPEN, WAIT_SECONDS, Session, Wait, code, lines

app = command_app()


@app.command()
def clear(
    tag: Annotated[str | None, typer.Option("--tag", metavar="TAG", help="Those with this tag.")] = None,
    dedupe_key: Annotated[
        str | None, typer.Option("--dedupe-key", metavar="KEY", help="Those with this key.")
    ] = None,
    id: Annotated[str | None, typer.Option("--id", metavar="ID", help="The one with this id.")] = None,
    session: Session = None,
    wait: Wait = WAIT_SECONDS,
    as_json: AsJson = False,
) -> None:
    """Remove what matches everything given, wherever it is.

    On its way, queued in a session's mailbox, or pending in its transcript, whoever sent it: the next
    request does not show it. Exit code 1 when a session has not answered.
    """
    given = {"tag": tag, "dedupeKey": dedupe_key, "id": id, "sessionId": session}
    chosen = {name: value for name, value in given.items() if value is not None}
    answer = ask("clear", {**chosen, "waitSeconds": wait})
    reached = listed(answer, "sessions")
    said = "\n".join([f"{answer.get('removedCount')} taken back", *lines(reached)])
    typer.echo(json.dumps(answer) if as_json else said)
    raise typer.Exit(code(reached, OPEN if session is None else (*OPEN, *KEPT)))
