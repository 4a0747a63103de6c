"""The durable messages of a transcript: an append-only persistent list in chunks.

Appending copies at most one short tail, whatever the length; versions share their full chunks.
Messages are the caller's dicts, in whatever form its model speaks; they are never changed here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import TypeAlias

import msgspec

from tidings.core.listing import Listing

Message: TypeAlias = Mapping[str, object]

_CHUNK = 64


class MessageList(msgspec.Struct, frozen=True, gc=False):
    """Messages in order: full chunks, then a tail that is shorter than a chunk."""

    chunks: tuple[tuple[Message, ...], ...] = ()
    tail: tuple[Message, ...] = ()
    listed: Listing[Message] | None = None

    @classmethod
    def of(cls, messages: Iterable[Message]) -> MessageList:
        """The list of `messages`."""
        given = tuple(messages)
        cut = len(given) - len(given) % _CHUNK
        chunks = tuple(given[start : start + _CHUNK] for start in range(0, cut, _CHUNK))
        return cls(chunks, given[cut:])

    def append(self, message: Message) -> MessageList:
        """This list and one more."""
        tail = (*self.tail, message)
        return MessageList(self.chunks, tail) if len(tail) < _CHUNK else MessageList((*self.chunks, tail))

    def listing(self) -> Listing[Message]:
        """All messages, built once per version."""
        if self.listed is None:
            msgspec.structs.force_setattr(self, "listed", Listing(self))
        assert self.listed is not None
        return self.listed

    @property
    def last(self) -> Message | None:
        """The newest message."""
        newest = self.tail or (self.chunks[-1] if self.chunks else ())
        return newest[-1] if newest else None

    def begins_with(self, other: MessageList) -> bool:
        """Whether the first messages are those of `other`; a chunk that both share is not looked into."""
        shared = len(other.chunks)
        if self.chunks[:shared] != other.chunks:
            return False
        following = self.chunks[shared] if shared < len(self.chunks) else self.tail
        return following[: len(other.tail)] == other.tail

    def after(self, count: int) -> tuple[Message, ...]:
        """What follows the first `count` messages."""
        number, inside = divmod(count, _CHUNK)
        if number >= len(self.chunks):
            return self.tail[count - _CHUNK * len(self.chunks) :]
        return (*self.chunks[number][inside:], *chain(*self.chunks[number + 1 :]), *self.tail)

    def __iter__(self) -> Iterator[Message]:
        return chain(*self.chunks, self.tail)

    def __len__(self) -> int:
        return len(self.chunks) * _CHUNK + len(self.tail)
