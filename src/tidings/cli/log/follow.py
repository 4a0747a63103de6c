"""`tidings log follow`: the records of a topic, and then new ones as they are written."""

from __future__ import annotations

import asyncio
import os
import signal
import stat
import sys
from collections.abc import Callable
from contextlib import aclosing, suppress
from typing import NoReturn

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
from tidings.cli.log.following import followed
from tidings.cli.log.lines import as_json as json_line
from tidings.cli.log.lines import as_line, as_text
from tidings.diagnostics.visible import visible
from tidings.log import EventLog, LogRecord

app = command_app()
_EXAMPLES = """\
[bold]Examples[/bold]

tidings log follow

tidings log follow --session 01J9 --kind transcript.reminder.fired

tidings log follow agent.db

tidings log follow agent.db --kind-prefix transcript.reminder.fired --json | jq .payload
"""


@app.command(epilog=_EXAMPLES)
def follow(
    address: Address = None,
    topic: Topic = None,
    kind_prefix: KindPrefix = "",
    session: Session = None,
    from_cursor: FromCursor = 0,
    limit: Limit = None,
    as_json: AsJson = False,
) -> None:
    """Show the records of a topic and wait for more, until you press Ctrl-C.

    Without an address these are the hub's own records, or with --session those that the session told it,
    also over a restart of the hub. Ctrl-C and SIGTERM are how following ends, so both give exit code 0.
    """
    choice = chosen_of(address, topic, kind_prefix, session, from_cursor, limit)
    for end in (signal.SIGINT, signal.SIGTERM):
        signal.signal(end, _stop)
    with open_existing(address) as log, suppress(KeyboardInterrupt, asyncio.CancelledError):
        if not log.latest(choice.topic):
            typer.echo(f"tidings: {visible(choice.topic)} has no records yet; waiting for one", err=True)
        text = json_line if as_json else as_text if sys.stdout.isatty() else as_line
        asyncio.run(_print_all(log, choice, text))


def _stop(*_: object) -> NoReturn:
    """Raise even while a write to a full pipe blocks the loop."""
    raise KeyboardInterrupt


async def _print_all(log: EventLog, choice: Choice, as_text: Callable[[LogRecord], str]) -> None:
    _end_with_reader()
    left = choice.limit
    async with aclosing(followed(log, choice)) as records:
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
