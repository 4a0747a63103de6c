"""`tidings revoke`: take a reminder back, on its way and out of the mailboxes of sessions."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from tidings.bridge.rpc import RpcError
from tidings.cli.codes import WRONG_QUESTION
from tidings.cli.hubbing import AsJson, ask, listed
from tidings.cli.lazy import command_app
from tidings.cli.takeback import KEPT, WAIT_SECONDS, Session, Wait, code, is_any, lines
from tidings.core.reminder import Payload
from tidings.diagnostics.visible import visible

UNKNOWN = "`tidings pending` lists what is on its way; --session names a session that has one of its own"

app = command_app()


@app.command()
def revoke(
    reminder: Annotated[str, typer.Argument(metavar="ID", help="The reminder's id.", show_default=False)],
    session: Session = None,
    wait: Wait = WAIT_SECONDS,
    as_json: AsJson = False,
) -> None:
    """Take back a reminder that no transcript has yet; exit code 2 when it is too late, or unknown.

    What is on its way goes, and sessions that have it queued are asked to drop it. Exit code 1 when one of
    them has not answered.
    """
    only = {} if session is None else {"sessionId": session}
    answer = ask("revoke", {"reminderId": reminder, "waitSeconds": wait, **only}, explain=_refused)
    reached = listed(answer, "sessions")
    late = not answer.get("removedCount") and is_any(reached, KEPT)
    typer.echo(json.dumps(answer) if as_json else "\n".join([_summary(answer, late), *lines(reached)]))
    if late and not as_json:
        typer.echo(_hint(reminder), err=True)
    raise typer.Exit(WRONG_QUESTION if late else code(reached))


def _summary(answer: Payload, late: bool) -> str:
    name, status = visible(str(answer.get("reminderId"))), answer.get("status")
    if late:
        return f"too late for those who have {name}; nobody else gets it"
    words = {"revoked": "taken back", "already_revoked": "taken back before", "asked": "not taken back yet"}
    return f"{words.get(str(status), status)}: {name}"


def _refused(error: RpcError) -> str | None:
    """What to say when everybody who was meant has it, or nobody knows it."""
    data = error.data or {}
    if data.get("reason") == "unknown_reminder_id":
        return f"{visible(error.message)}; {UNKNOWN}"
    reached = listed(data, "sessions")
    if data.get("reason") != "already_delivered" or not reached:
        return None
    name = str(data.get("reminderId"))
    return "\n".join([f"too late to take back {visible(name)}", *lines(reached), _hint(name)])


def _hint(reminder: str) -> str:
    return f"`tidings clear --id {visible(reminder)}` removes it from the next requests of those sessions"
