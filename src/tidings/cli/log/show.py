"""`tidings log show`: the records of a topic, as a table on a terminal, as lines in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import islice

import typer

from tidings.cli.lazy import command_app
from tidings.cli.log.address import Address, open_existing
from tidings.cli.log.choice import (
    AsJson,
    Choice,
    FromCursor,
    KindPrefix,
    Limit,
    Session,
    Topic,
    chosen_of,
)
from tidings.cli.log.lines import as_json as json_line
from tidings.cli.log.lines import as_line, cells
from tidings.errors import SubscriberLaggedError
from tidings.log import EventLog, LogRecord

app = command_app()
_EXAMPLES = """\
[bold]Examples[/bold]

tidings log show --limit 20

tidings log show agent.db

tidings log show agent.db --session s1 --kind-prefix transcript.reminder.expired

tidings log show agent.db --from-cursor 120 --limit 20 --json
"""


@app.command(epilog=_EXAMPLES)
def show(
    address: Address = None,
    topic: Topic = None,
    kind_prefix: KindPrefix = "",
    session: Session = None,
    from_cursor: FromCursor = 0,
    limit: Limit = None,
    as_json: AsJson = False,
) -> None:
    """Show the records of a topic, oldest first; without an address, the hub's own."""
    choice = chosen_of(address, topic, kind_prefix, session, from_cursor, limit)
    with open_existing(address) as log:
        records = chosen(log, choice)
        if as_json:
            shown = _print_lines(map(json_line, records))
        elif sys.stdout.isatty():
            shown = _print_table(records)
        else:
            shown = _print_lines(map(as_line, records))
        if not shown:
            _say_what_there_is(log, choice)


def chosen(log: EventLog, choice: Choice) -> Iterator[LogRecord]:
    """The records that were asked for and are still kept."""
    try:
        records = _read(log, choice, choice.from_cursor)
    except SubscriberLaggedError as gone:
        typer.echo(f"tidings: {gone.missed} older records are no longer kept", err=True)
        records = _read(log, choice, gone.resume_from)
    return islice((record for record in records if choice.takes(record)), choice.limit)


def _read(log: EventLog, choice: Choice, position: int) -> Iterator[LogRecord]:
    return log.read(choice.topic, from_cursor=position, kind_prefix=choice.kind_prefix)


def _print_lines(lines: Iterator[str]) -> int:
    count = 0
    for line in lines:
        sys.stdout.write(f"{line}\n")
        count += 1
    return count


def _print_table(records: Iterator[LogRecord]) -> int:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("#", "time (UTC)", "kind", "session"):
        table.add_column(heading, no_wrap=heading != "kind", overflow="fold")
    table.add_column("details", overflow="fold")
    for record in records:
        table.add_row(*map(Text, cells(record)))
    if table.row_count:
        Console().print(table)
    return table.row_count


def _say_what_there_is(log: EventLog, choice: Choice) -> None:
    """Nothing matched: say so where it does not disturb a script."""
    from tidings.diagnostics.visible import visible

    if log.latest(choice.topic):
        typer.echo(f"tidings: nothing in {visible(choice.topic)} matches", err=True)
    else:
        known = ", ".join(map(visible, log.topics())) or "none"
        typer.echo(f"tidings: no records in {visible(choice.topic)}; topics: {known}", err=True)
