"""`tidings purge`: let old records go, from the running hub's log or from a log file of one's own.

What would go is shown first; on a terminal the user is asked. The hub purges itself while it runs; a file
is purged here, beside whoever writes it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from tidings.cli.hubbing import AsJson, ask, listed, show
from tidings.cli.lazy import BAD_NEWS, command_app
from tidings.core.reminder import Payload
from tidings.diagnostics.visible import visible
from tidings.errors import CallerError
from tidings.hub.amounts import read_age

if TYPE_CHECKING:
    from tidings.log import EventLog
    from tidings.log.plan import Planned

app = command_app()
_EXAMPLES = """\
[bold]Examples[/bold]

tidings purge --older-than 30d --dry-run

tidings purge --older-than 7d --session 01J9 --yes

tidings purge --older-than 30d --log agent.db
"""


class _Options(msgspec.Struct, frozen=True):
    """How to go about it."""

    dry_run: bool
    yes: bool
    as_json: bool

    @property
    def asks(self) -> bool:
        """Whether there is somebody to ask."""
        return not (self.yes or self.as_json) and sys.stdin.isatty()


@app.command(epilog=_EXAMPLES)
def purge(
    older_than: Annotated[
        str,
        typer.Option(
            "--older-than", metavar="AGE", help="Which records: 45s, 90m, 12h, 30d, 2w.", show_default=False
        ),
    ],
    session: Annotated[
        str | None,
        typer.Option("--session", metavar="ID", help="Only of this session; if none are younger, all."),
    ] = None,
    topic: Annotated[str | None, typer.Option("--topic", metavar="T", help="Only this topic.")] = None,
    log: Annotated[
        str | None, typer.Option("--log", metavar="FILE", help="A log file, instead of the hub's log.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would go.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask on a terminal.")] = False,
    as_json: AsJson = False,
) -> None:
    """Delete old records and leave checkpoints, with which the rest still verifies.

    A commit goes whole or stays. What a session or the hub needs to go on stays as well; the message says
    what would let it go. Exit code: 0, 1 if you said no, 2 if it cannot be done.
    """
    age = read_age(older_than, "--older-than")
    if session is not None and topic is not None:
        raise CallerError("--session and --topic are given; give one of them")
    options = _Options(dry_run, yes, as_json)
    if log is None:
        _purge_hub(age, session, topic, options)
    else:
        _purge_file(log, age, session, topic, options)


def _purge_hub(age: int, session: str | None, topic: str | None, options: _Options) -> None:
    given = {"olderThanSeconds": age / 1000, "sessionId": session, "topic": topic}
    params: Payload = {name: value for name, value in given.items() if value is not None}
    _purge(lambda: ask("purge", {**params, "dryRun": True}), lambda: _ask_until_done(params), options)


def _ask_until_done(params: Payload) -> Payload:
    rows: dict[object, Payload] = {}
    while True:
        answer = ask("purge", params)
        for row in listed(answer, "purged"):
            before = rows.get(row.get("topic"), {})
            rows[row.get("topic")] = {**row, "count": _count([row, before])}
        if not answer.get("more"):
            return {"purged": list(rows.values())}


def _purge_file(address: str, age: int, session: str | None, topic: str | None, options: _Options) -> None:
    from tidings.cli.log.address import open_existing
    from tidings.log.plan import carry_out, plan
    from tidings.shell.ids import now_ms

    with open_existing(address) as log:
        names = _topics(log, session, topic)
        made = plan(log, names, now_ms() - age, forget=session is not None)
        stays = [{"topic": one.topic, "count": one.count, "fix": one.fix} for one in made.staying]
        _purge(
            lambda: {"purged": _rows(made.going), "kept": stays},
            lambda: {"purged": _rows(carry_out(log, made)), "kept": stays},
            options,
        )


def _topics(log: EventLog, session: str | None, topic: str | None) -> list[str]:
    """The topics that are meant, of those there are."""
    from tidings.core.records import transcript_topic
    from tidings.log.record import CHECKPOINTS

    known = [name for name in log.topics() if name != CHECKPOINTS]
    if session is not None:
        own = transcript_topic(session)
        wanted = [own, own.removesuffix("transcript") + "approvals"]
        what = f"--session is {session!r}"
    else:
        wanted, what = (known, "") if topic is None else ([topic], f"--topic is {topic!r}")
    found = [name for name in wanted if name in known]
    if what and not found:
        raise CallerError(f"{what}; the log has no such one, see `tidings log topics`")
    return found


def _rows(planned: Sequence[Planned]) -> list[Payload]:
    return [
        {"topic": one.topic, "count": one.count, "purgedThrough": one.purged_through} for one in planned
    ]


def _purge(plan: Callable[[], Payload], carry_out: Callable[[], Payload], options: _Options) -> None:
    """Show what would go, ask where somebody can be asked, and do it."""
    planned = plan()
    if options.dry_run or not listed(planned, "purged"):
        _report(planned, options, "would go")
        return
    if options.asks:
        _report(planned, options, "would go")
        if not typer.confirm("Let them go?"):
            raise typer.Exit(BAD_NEWS)
    _report(carry_out(), options, "gone")


def _report(answer: Payload, options: _Options, word: str) -> None:
    rows = listed(answer, "purged")
    told = {"dryRun": options.dry_run, **answer}
    show(told, options.as_json, ("records", "topic", "up to"), [_cells(row) for row in rows])
    if options.as_json:
        return
    typer.echo(f"{_count(rows)} records {word}")
    for row in listed(answer, "kept"):
        about = f"{row.get('count')} old records of {row.get('topic')} stay: {row.get('fix')}"
        typer.echo(f"tidings: {visible(about)}", err=True)


def _cells(row: Payload) -> tuple[object, object, object]:
    return row.get("count"), row.get("topic"), row.get("purgedThrough")


def _count(rows: Sequence[Payload]) -> int:
    counts = (row.get("count") for row in rows)
    return sum(count for count in counts if isinstance(count, int))
