"""`tidings replay`: what a session was at a turn, and which reminders its request showed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Annotated

import typer

from tidings.cli.lazy import command_app
from tidings.cli.replaying import Moment, as_dict, moment, of_hub, of_log
from tidings.core.producers import shorten
from tidings.core.records import transcript_topic
from tidings.core.reminder import Reminder
from tidings.diagnostics.visible import visible
from tidings.errors import CallerError
from tidings.hub.told import PREFIX, told_topic
from tidings.log import EventLog

app = command_app()
_EXAMPLES = """\
[bold]Examples[/bold]

tidings replay 01J9

tidings replay 01J9 --turn 3 --json

tidings replay s1 --log agent.db --turn 2
"""
LINE = 200
_WIDTH = 9


@app.command(epilog=_EXAMPLES)
def replay(
    session: Annotated[
        str, typer.Argument(metavar="SESSION", help="The session's id.", show_default=False)
    ],
    turn: Annotated[
        int | None,
        typer.Option("--turn", min=1, metavar="N", help="As its request was answered. Default: the end."),
    ] = None,
    log: Annotated[
        str | None,
        typer.Option(
            "--log", metavar="ADDRESS", help="The session's own log. Default: what it told the hub."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Everything, as one JSON object.")] = False,
) -> None:
    """Rebuild a session as it was at a turn: its messages, what was pending, and what the request showed.

    Exit code: 0, or 2 if there is no such session or turn.
    """
    from tidings.cli.log.address import open_existing

    with open_existing(log) as opened:
        found = _found(opened, session, turn, from_hub=log is None)
    if as_json:
        typer.echo(json.dumps(as_dict(found)))
        return
    for line in lines(found):
        typer.echo(line)


def _found(log: EventLog, session: str, turn: int | None, *, from_hub: bool) -> Moment:
    topic = told_topic(session) if from_hub else transcript_topic(session)
    if not log.latest(topic):
        raise CallerError(_unknown(log, session, from_hub))
    if log.purged_through(topic):
        typer.echo("tidings: its older records are no longer kept; this begins in the middle", err=True)
    entries = of_hub(log, session) if from_hub else of_log(log, session)
    return moment(entries, session, turn)


def _unknown(log: EventLog, session: str, from_hub: bool) -> str:
    start, end = (PREFIX, "") if from_hub else ("session.", ".transcript")
    names = [name for name in log.topics() if name.startswith(start) and name.endswith(end)]
    ids = ", ".join(name.removeprefix(start).removesuffix(end) for name in names[-10:])
    where = "the hub was told nothing by" if from_hub else "this log has no"
    return f"{where} session {session!r}; there are {ids or 'none'}"


def lines(found: Moment) -> Iterator[str]:
    """The moment for people; text of others on one line each."""
    last = found.turns[-1] if found.turns else 0
    transcript = found.stored.transcript
    yield f"session {visible(found.session_id)}, turn {found.turn} of {last}"
    yield from _part("messages", [_message(one) for one in transcript.messages])
    yield from _part("pending", [_reminder(one) for one in transcript.pending])
    queued = [(str(row.get("id")), str(row.get("mode"))) for row in found.stored.mailbox.rows()]
    yield from _part("queued", queued)
    shown = [_rendered(row, found.bodies) for row in found.rendered]
    yield from _part(f"shown in turn {found.turn}", shown)
    if found.left_out:
        yield f"{found.left_out} records were too long to be told whole and are left out"


def _part(title: str, rows: list[tuple[str, str]]) -> Iterator[str]:
    yield f"{title}: {len(rows) or 'none'}"
    for name, text in rows:
        words = visible(" ".join(text.split()))
        yield f"  {visible(shorten(name)):<{_WIDTH}}  {words[:LINE]}{'…' * (len(words) > LINE)}".rstrip()


def _message(message: Mapping[str, object]) -> tuple[str, str]:
    content, calls = message.get("content"), message.get("tool_calls")
    blocks = content if isinstance(content, list) else [{"text": content}]
    asked = [f"[calls {one.get('name')}]" for one in calls] if isinstance(calls, list) else []
    said = [*(_block(block) for block in blocks), *asked]
    return str(message.get("role")), " ".join(filter(None, said))


def _block(block: object) -> str:
    if not isinstance(block, Mapping):
        return ""
    if isinstance(text := block.get("text"), str):
        return text
    return f"[{block.get('type')} {block.get('name', '')}]".replace(" ]", "]")


def _reminder(reminder: Reminder) -> tuple[str, str]:
    ttl = reminder.ttl_turns
    left = "" if ttl is None else f"{ttl} turn{'s' * (ttl != 1)} left, "
    origin = reminder.provenance.origin or reminder.source
    return reminder.id, f"({left}{origin}) {reminder.body}"


def _rendered(row: Mapping[str, object], bodies: Mapping[str, str]) -> tuple[str, str]:
    name = str(row.get("reminder_id"))
    place = f"at {row['path']}: " if row.get("path") else ""
    words = bodies.get(name) or row.get("fragment") or ""
    return name, f"as {row.get('role')} {place}{words}"
