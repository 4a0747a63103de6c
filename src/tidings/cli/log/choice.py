"""Which records a command shows: the options that `show` and `follow` share, as one value."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import msgspec
import typer

from tidings.core.records import LIFECYCLE_TOPIC
from tidings.log import LogRecord

_PANEL = "Which records"

Topic: TypeAlias = Annotated[
    str, typer.Option(help="The topic to read.", rich_help_panel=_PANEL, metavar="TOPIC")
]
KindPrefix: TypeAlias = Annotated[
    str,
    typer.Option(
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
