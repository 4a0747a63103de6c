"""Which records a command shows: the options that `show` and `follow` share, as one value.

In a log file `--session` chooses among the records of a topic. In the hub's log what a session told is a
topic of its own, so there it names the topic.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

import msgspec
import typer

from tidings.core.records import LIFECYCLE_TOPIC
from tidings.log import LogRecord

_PANEL = "Which records"

Topic: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help=f"The topic to read. Default: {LIFECYCLE_TOPIC}; of the hub: hub, or what the session told.",
        rich_help_panel=_PANEL,
        metavar="TOPIC",
        show_default=False,
    ),
]
KindPrefix: TypeAlias = Annotated[
    str,
    typer.Option(
        "--kind-prefix",
        "--kind",
        help="Only kinds that begin so, such as transcript.reminder.fired.",
        rich_help_panel=_PANEL,
        metavar="TEXT",
        show_default=False,
    ),
]
Session: TypeAlias = Annotated[
    str | None,
    typer.Option(help="Only records of this session id.", rich_help_panel=_PANEL, metavar="ID"),
]
FromCursor: TypeAlias = Annotated[
    int,
    typer.Option(min=0, help="Start after this record number.", rich_help_panel=_PANEL, metavar="N"),
]
Limit: TypeAlias = Annotated[
    int | None,
    typer.Option(min=1, help="Stop after so many records.", rich_help_panel=_PANEL, metavar="N"),
]
AsJson: TypeAlias = Annotated[
    bool, typer.Option("--json", help="One JSON object per line, with everything in it.")
]


class Choice(msgspec.Struct, frozen=True):
    """The records that were asked for."""

    topic: str = LIFECYCLE_TOPIC
    kind_prefix: str = ""
    session: str | None = None
    from_cursor: int = 0
    limit: int | None = None

    def takes(self, record: LogRecord) -> bool:
        """Whether a record of the topic is of the session asked for."""
        return self.session is None or record.payload.get("session_id") == self.session


def chosen_of(
    address: str | None,
    topic: str | None,
    kind_prefix: str,
    session: str | None,
    from_cursor: int,
    limit: int | None,
) -> Choice:
    """What the options ask for, of a log or of the hub."""
    if address is not None:
        return Choice(topic or LIFECYCLE_TOPIC, kind_prefix, session, from_cursor, limit)
    from tidings.hub.store import TOPIC
    from tidings.hub.told import told_topic

    name = topic or (TOPIC if session is None else told_topic(session))
    return Choice(name, kind_prefix, None, from_cursor, limit)
