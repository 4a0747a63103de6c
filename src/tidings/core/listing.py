"""A read-only list: what `messages`, `events` and `pending` of a transcript give back.

A tuple, so that JSON encoders take it as an array and nobody can change it, that also equals a
list with the same items, because people compare it with one.
"""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T", covariant=True)


class Listing(tuple[T, ...]):
    """A tuple that equals a list with the same items."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return tuple.__eq__(self, tuple(other) if isinstance(other, list) else other) is True

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return tuple.__hash__(self)

    def __repr__(self) -> str:
        return repr(list(self))
