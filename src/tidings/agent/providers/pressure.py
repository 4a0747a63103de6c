"""token_pressure: tells the agent when the context window fills up, once per threshold.

The threshold last told is a value that the caller keeps (`Pass.pressure`): empty at first and after
a compaction, then "70%", "85%" or "95%". Crossing upward fires; staying, falling or wobbling does not.
"""

from __future__ import annotations

import msgspec

from tidings.agent.providers.situation import Situation, first, number
from tidings.agent.providers.table import TABLE
from tidings.core.reminder import Payload


class Threshold(msgspec.Struct, frozen=True):
    """A share of the window, and what to say when it is reached."""

    mark: str
    ratio: float
    level: str
    advice: str


THRESHOLDS = (
    Threshold("70%", 0.70, "CAUTION", "Prefer narrow reads and short outputs from here on."),
    Threshold("85%", 0.85, "WARNING", "Finish the step at hand and note what is still open."),
    Threshold(
        "95%", 0.95, "CRITICAL", "Write down the state of the task now; compaction or the end is near."
    ),
)
MARKS = tuple(threshold.mark for threshold in THRESHOLDS)


def usage(situation: Situation) -> tuple[float, float] | None:
    """Tokens used and the window's size; None when one is unknown.

    The config of token_pressure overrides what the payload says (seed 001, cookbook).
    """
    payload, options = situation.payload, situation.options
    used = number(payload.get("tokens_used"))
    given = (
        payload.get("context_window"),
        options.get("context_window"),
        options.get("max_context_tokens"),
    )
    window = number(first(situation.window, *given))
    if used is None or used < 0 or window is None or window <= 0:
        return None
    return used, window


def reached(used: float, window: float) -> Threshold | None:
    """The highest threshold that this use has reached."""
    return next((t for t in reversed(THRESHOLDS) if used >= t.ratio * window), None)


def token_pressure(situation: Situation, told: str) -> tuple[Payload | None, str]:
    """The reminder for a threshold newly crossed, and the mark that is told from now on."""
    known = usage(situation)
    threshold = reached(*known) if known else None
    if known is None or threshold is None or _rank(threshold.mark) <= _rank(told):
        return None, told
    used, window = known
    body = (
        f"[{threshold.mark}] {threshold.level}: the context window is {int(100 * used / window)}% full "
        f"({used:,.0f} of {window:,.0f} tokens). {threshold.advice}"
    )
    return TABLE["token_pressure"].spec(body, preserve=threshold.level == "CRITICAL"), threshold.mark


def _rank(mark: str) -> int:
    return MARKS.index(mark) if mark in MARKS else -1
