"""What a loop gives back, and what it may be told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, TypeAlias, get_args

import msgspec

from tidings.agent.arguments import is_listing, is_number
from tidings.agent.port import Usage
from tidings.agent.tools.receipt import Receipt
from tidings.core.compaction import Compactor
from tidings.core.reminder import Payload
from tidings.core.transcript import Transcript
from tidings.errors import CallerError

Status: TypeAlias = Literal[
    "done", "cut_short", "budget_exhausted", "failed", "cancelled", "blocked", "suspended", "idle"
]

Strategy: TypeAlias = Literal["summary", "truncate", "custom"]
STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)

CUT_SHORT = (
    "the answer was cut off at the model's output limit, or at the end of its context window: raise "
    "max_tokens, ask for less at once, or give the loop a compaction; agent_loop(None, session=…) goes on"
)
"""The error of a loop that ended with `cut_short`."""


class LoopResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a loop ended.

    `undelivered` is what still waits in the mailbox; `error` says why it failed or was cut short.
    """

    text: str
    status: Status
    iterations: int
    transcript: Transcript
    receipts: tuple[Receipt, ...] = ()
    usage: Usage = Usage()
    undelivered: tuple[Payload, ...] = ()
    error: str | None = None

    def __repr__(self) -> str:
        """Short, whatever tools gave: `asyncio.run` writes a result down as it ends, to throw it away."""
        return (
            f"LoopResult(text={self.text!r:.80}, status={self.status!r}, iterations={self.iterations}, "
            f"transcript={self.transcript!r}, receipts={len(self.receipts)}, usage={self.usage!r}, "
            f"undelivered={len(self.undelivered)}, error={self.error!r:.80})"
        )


class Compaction(msgspec.Struct, frozen=True, kw_only=True):
    """When and how a long conversation is made shorter.

    `at` is the share of the context window that triggers it, `keep` how many of the last messages
    stay; "summary" asks the model, "truncate" drops, "custom" calls `compactor(messages, reminders)`.
    """

    strategy: Strategy = "summary"
    at: float = 0.9
    keep: int = 12
    compactor: Compactor | None = None

    def __post_init__(self) -> None:
        if self.strategy not in STRATEGIES:
            known = ", ".join(STRATEGIES)
            raise CallerError(f"compaction `strategy` is {self.strategy!r}; give one of {known}")
        if not is_number(self.at) or not 0 < self.at <= 1:
            raise CallerError(f"compaction `at` is {self.at!r}; give a share of the window, such as 0.9")
        if type(self.keep) is not int or self.keep < 0:
            raise CallerError(f"compaction `keep` is {self.keep!r}; give a number of messages, 0 or more")
        if (self.strategy == "custom") != callable(self.compactor):
            raise CallerError('`compactor` goes with strategy="custom", and only with it')


class Daemon(msgspec.Struct, frozen=True, kw_only=True):
    """A loop that waits for news instead of ending.

    It wakes on interrupt reminders, user messages, `timer_seconds` and changes of `watch` paths; after
    `max_idle_seconds` without any it ends with status `idle`. `backoff` are the steps of waiting.
    """

    max_idle_seconds: float = 3600.0
    timer_seconds: float | None = None
    watch: Sequence[Path | str] = ()
    backoff: Sequence[float] = (0.1, 0.5, 1.0, 2.0)

    def __post_init__(self) -> None:
        for name in ("max_idle_seconds", "timer_seconds"):
            seconds = getattr(self, name)
            if not (seconds is None and name == "timer_seconds") and not _waits(seconds):
                raise CallerError(f"daemon `{name}` is {seconds!r}; give seconds, 0 or more")
        if not is_listing(self.watch) or not all(isinstance(path, (str, Path)) for path in self.watch):
            raise CallerError(f"daemon `watch` is {self.watch!r}; give a list of paths")
        if not is_listing(self.backoff) or not self.backoff or not all(map(_waits, self.backoff)):
            raise CallerError(f"daemon `backoff` is {self.backoff!r}; give one or more waits in seconds")


def _waits(seconds: object) -> bool:
    """Whether this is a time one can wait for; for ever is one too."""
    return is_number(seconds) and seconds >= 0


OnText: TypeAlias = Callable[[str], None]
