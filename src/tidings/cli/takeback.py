"""What `tidings revoke` and `tidings clear` share: which session, how long to wait, and what each one did.

The words are a table; a line is printed for each session that has something to say. Text of others never
reaches a terminal raw.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, TypeAlias

import typer

from tidings.cli.codes import BAD_NEWS, FINE
from tidings.core.reminder import Payload
from tidings.diagnostics.visible import visible
from tidings.hub.shapes import LONGEST_WAIT, Outcome

WAIT_SECONDS = 5.0

Session: TypeAlias = Annotated[
    str | None, typer.Option("--session", metavar="ID", help="Only from this session.")
]
Wait: TypeAlias = Annotated[
    float,
    typer.Option(
        "--wait",
        metavar="SECONDS",
        min=0,
        max=LONGEST_WAIT,
        help="How long to wait for the answers of sessions that have it.",
    ),
]

WORDS: dict[Outcome, str] = {
    "revoked": "taken out of its mailbox",
    "already_revoked": "it had been taken back before",
    "already_delivered": "it stands in the transcript already",
    "unknown_reminder_id": "it is not known there",
    "cleared": "{count} removed",
    "forgotten": "{count} not shown again; what the agent has read stays in its own transcript",
    "refused": "the session refused; its log says why",
    "asked": "asked, and has not answered yet",
    "lapsed": "the session left, or did not answer in time",
    "left": "the session is not there; it keeps what it has",
    "not_able": "its host takes nothing back",
    "busy": "it leaves too many requests unanswered; try again in a minute",
}
"""What became of it in one session, in words."""

OPEN: tuple[Outcome, ...] = ("asked", "busy")
KEPT: tuple[Outcome, ...] = ("already_delivered", "refused", "lapsed", "left", "not_able")


def lines(reached: Iterable[Payload]) -> Iterable[str]:
    """A line for each session that did something, or did not do it."""
    for one in reached:
        count, outcome = one.get("removedCount"), str(one.get("outcome"))
        if outcome == "cleared" and not count:
            continue
        words = {str(name): text.format(count=count) for name, text in WORDS.items()}
        yield f"  {visible(str(one.get('sessionId')))}: {words.get(outcome, visible(outcome))}"


def is_any(reached: Iterable[Payload], outcomes: tuple[Outcome, ...]) -> bool:
    """Whether one of the sessions ended in one of these ways."""
    return any(one.get("outcome") in outcomes for one in reached)


def code(reached: Iterable[Payload], bad: tuple[Outcome, ...] = OPEN) -> int:
    """The exit code: bad news while somebody is still to answer."""
    return BAD_NEWS if is_any(reached, bad) else FINE
