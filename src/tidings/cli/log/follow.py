"""`tidings log follow`: the records of a topic, and then new ones as they are written."""

from __future__ import annotations

import asyncio
import os
import signal
import stat
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from typing import NoReturn

import typer

from tidings.cli.lazy import command_app
from tidings.cli.log.address import Address, open_existing
from tidings.cli.log.choice import AsJson, Choice, FromCursor, KindPrefix, Limit, Session, Topic
from tidings.cli.log.lines import as_json as json_line
from tidings.cli.log.lines import as_line
from tidings.core.records import LIFECYCLE_TOPIC
from tidings.errors import SubscriberLaggedError
from tidings.log import EventLog, LogRecord

app = command_app()
_EXAMPLES = """\
[bold]Examples[/bold]

tidings log follow agent.db

tidings log follow agent.db --kind-prefix transcript.reminder.fired --json | jq .payload
"""


@app.command(epilog=_EXAMPLES)
def follow(
    address: Address,
    topic: Topic = LIFECYCLE_TOPIC,
    kind_prefix: KindPrefix = "",
    session: Session = None,
    from_cursor: FromCursor = 0,
    limit: Limit = None,
    as_json: AsJson = False,
) -> None:
    """Show the records of a topic and wait for more, until you press Ctrl-C.

    Ctrl-C and SIGTERM are how following ends, so both give exit code 0.
    """
    choice = Choice(topic, kind_prefix, session, from_cursor, limit)
    for end in (signal.SIGINT, signal.SIGTERM):
        signal.signal(end, _stop)
    with open_existing(address) as log, suppress(KeyboardInterrupt, asyncio.CancelledError):
        asyncio.run(_print_all(log, choice, json_line if as_json else as_line))


def _stop(*_: object) -> NoReturn:
    """Raise even while a write to a full pipe blocks the loop."""
    raise KeyboardInterrupt


async def _print_all(log: EventLog, choice: Choice, as_text: Callable[[LogRecord], str]) -> None:
    _end_with_reader()
    left = choice.limit
    async with aclosing(_records(log, choice)) as records:
        async for record in records:
            sys.stdout.write(f"{as_text(record)}\n")
            sys.stdout.flush()
            left = None if left is None else left - 1
            if left == 0:
                return


def _end_with_reader() -> None:
    """Stop when whoever reads our pipe goes away, even if no record comes to be written."""
    task = asyncio.current_task()
    with suppress(OSError, ValueError, NotImplementedError):
        if task is not None and stat.S_ISFIFO(os.fstat(sys.stdout.fileno()).st_mode):
            asyncio.get_running_loop().add_reader(sys.stdout.fileno(), task.cancel)


async def _records(log: EventLog, choice: Choice) -> AsyncGenerator[LogRecord, None]:
    """What was asked for, again and again from where a slow reader fell behind."""
    position = choice.from_cursor
    while True:
        try:
            subscription = log.subscribe(choice.topic, position, choice.kind_prefix)
            async with aclosing(subscription) as records:
                async for record in records:
                    position = record.cursor
                    if choice.takes(record):
                        yield record
            return
        except SubscriberLaggedError as lagged:
            position = lagged.resume_from
            if lagged.missed:
                typer.echo(f"tidings: {lagged.missed} records are no longer kept", err=True)
