"""Long text loses its middle, and says so: the mark counts what is left out.

The same clip serves a finished text and a stream that must never be held whole, with the same
result. The end of a tool's output is often what matters (an error, a summary), hence the middle.
Called by the dispatcher for every result and by the tools that read streams.
"""

from __future__ import annotations

import msgspec

from tidings.errors import CallerError

SMALLEST = 200
"""A limit below this would leave little but the mark."""

_MARK = "\n[… {left_out} of {total} characters left out here …]\n"


class Clipped(msgspec.Struct, frozen=True):
    """Text that fits; `total` counts the characters there were."""

    text: str
    truncated: bool
    total: int


class Clip:
    """Takes text piece by piece and keeps its beginning and its end, `limit` characters at most."""

    def __init__(self, limit: int) -> None:
        if limit < SMALLEST:
            raise CallerError(f"the output limit is {limit!r}; give {SMALLEST} characters or more")
        self.limit = limit
        self.total = 0
        self._head = ""
        self._tail: list[str] = []
        self._tail_size = 0

    def feed(self, text: str) -> None:
        """Add text."""
        self.total += len(text)
        room = self.limit - len(self._head)
        self._head += text[:room]
        rest = text[room:]
        if rest:
            self._tail.append(rest[-self.limit :])
            self._tail_size += len(self._tail[-1])
        if self._tail_size > 4 * self.limit:
            self._squeeze()

    def result(self) -> Clipped:
        """What is left, with the mark where something is missing."""
        if self.total <= self.limit:
            return Clipped(self._head, False, self.total)
        self._squeeze()
        room = self.limit - len(_MARK.format(left_out=self.total, total=self.total))
        head, tail = room - room // 2, room // 2
        mark = _MARK.format(left_out=self.total - room, total=self.total)
        # What follows the head may be shorter than the tail wanted; the head's own end completes it.
        end = (self._head + self._tail[0])[-tail:]
        return Clipped(self._head[:head] + mark + end, True, self.total)

    def _squeeze(self) -> None:
        """Forget all of the tail but its last `limit` characters."""
        self._tail = ["".join(self._tail)[-self.limit :]]
        self._tail_size = len(self._tail[0])


def truncate(text: str, limit: int) -> Clipped:
    """`text` in at most `limit` characters."""
    if limit >= max(SMALLEST, len(text)):
        return Clipped(text, False, len(text))
    clip = Clip(limit)
    clip.feed(text)
    return clip.result()
