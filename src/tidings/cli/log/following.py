"""Following a topic: its records, and then new ones as they are written, each once and in order."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

import typer

from tidings.cli.log.choice import Choice
from tidings.errors import SubscriberLaggedError
from tidings.log import EventLog, LogRecord


async def followed(log: EventLog, choice: Choice) -> AsyncGenerator[LogRecord, None]:
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
