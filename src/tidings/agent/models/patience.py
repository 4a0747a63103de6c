"""How long to wait for an answer, and how often to ask again.

One deadline spans all attempts. A retryable failure is repeated after a growing pause, or the one
the provider asked for, until text has been heard: what a reader saw cannot be taken back. The
adapters call it around each request.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable

import msgspec

from tidings.agent.models.failure import ProviderFailure
from tidings.agent.port import Answer, ModelError
from tidings.errors import CallerError

_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 8.0


class Patience(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds for the whole answer, repetitions after the first attempt, and how to pause.

    Raises:
        CallerError: a deadline or a number of retries that makes no sense.
    """

    deadline: float = 600.0
    retries: int = 2
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    def __post_init__(self) -> None:
        if not self.deadline > 0:
            raise CallerError(f"`deadline` must be seconds above 0; got {self.deadline!r}")
        if self.retries < 0:
            raise CallerError(f"`retries` must be 0 or more; got {self.retries!r}")


class Ear:
    """Passes text on, and knows whether any was heard."""

    def __init__(self, on_text: Callable[[str], None] | None) -> None:
        self.heard = False
        self._on_text = on_text

    def __call__(self, text: str) -> None:
        """Hear `text`."""
        self.heard = True
        if self._on_text is not None:
            self._on_text(text)


async def patiently(
    vendor: str, patience: Patience, attempt: Callable[[Ear], Awaitable[Answer]], ear: Ear
) -> Answer:
    """The answer of the first attempt that succeeds.

    Raises:
        ModelError: the last failure, or the deadline passed.
    """
    try:
        async with asyncio.timeout(patience.deadline) as scope:
            return await _attempts(patience, attempt, ear)
    except TimeoutError:
        if not scope.expired():
            raise
        message = f"{vendor} gave no complete answer within {patience.deadline:g} s"
        raise ModelError(message, retryable=True) from None


async def _attempts(patience: Patience, attempt: Callable[[Ear], Awaitable[Answer]], ear: Ear) -> Answer:
    for number in range(patience.retries):
        try:
            return await attempt(ear)
        except ProviderFailure as failure:
            wait = _pause(number) if failure.retry_after is None else failure.retry_after
            if ear.heard or not failure.retryable or wait >= patience.deadline:
                raise
        await patience.sleep(wait)
    return await attempt(ear)


def _pause(number: int) -> float:
    """Half a second, doubled each time, up to a quarter less so that many clients spread out."""
    longest: float = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2**number)
    return longest * random.uniform(0.75, 1.0)
