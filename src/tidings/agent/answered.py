"""Who looks at the answered requests of a session, or hears its text, and how they are told.

Nothing is kept or computed while nobody looks. An observer runs in the loop, so it is quick and waits for
nothing; one that fails becomes a record. The hub listens here for what the panel shows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from tidings.core import records
from tidings.rendering.request import Request
from tidings.rendering.route import Route

if TYPE_CHECKING:
    from tidings.agent.result import OnText
    from tidings.agent.session import Session


class Answered(msgspec.Struct, frozen=True):
    """A request that a model answered: the turn it was, its route, and what was sent."""

    turn: int
    route: Route
    request: Request


Observe: TypeAlias = Callable[[Answered], None]


class Observers:
    """Those who look; false when there is none."""

    def __init__(self) -> None:
        self._all: tuple[Observe, ...] = ()

    def __bool__(self) -> bool:
        return bool(self._all)

    @contextmanager
    def looking(self, observe: Observe) -> Iterator[None]:
        """Tell `observe` of every answered request while the block runs."""
        self._all = (*self._all, observe)
        try:
            yield
        finally:
            left = list(self._all)
            left.remove(observe)
            self._all = tuple(left)

    def tell(self, session: Session, answered: Answered) -> None:
        """Tell everybody; what an observer raises is noted in the session's log."""
        for observe in self._all:
            try:
                observe(answered)
            except Exception as error:  # noqa: BLE001  # becomes a record, never a dead run
                _failed(session, "session.observers", error)


def listening(session: Session, on_text: OnText | None) -> OnText | None:
    """`on_text` as a model may call it: once it raised, that is noted and it hears no more."""
    if on_text is None:
        return None
    hears = True

    def hear(text: str) -> None:
        nonlocal hears
        if not hears:
            return
        try:
            on_text(text)
        except Exception as error:  # noqa: BLE001  # becomes a record, never a dead run
            hears = False
            _failed(session, "on_text", error)

    return hear


def _failed(session: Session, producer: str, error: Exception) -> None:
    with session.step():
        session.note((records.warning("observer_failed", producer, repr(error)),))
