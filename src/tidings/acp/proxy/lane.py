"""One direction of the traffic: bytes in, the same bytes out, but for the lines that somebody changes.

A chunk without any of the marks goes on as it came, unopened. Otherwise its lines are shown, one by one,
to `look`, which gives what goes on instead. A line beyond the bound is never shown: it is passed on while
it arrives, or dropped where it has nowhere to go. `put` adds lines of our own, never inside another one.
No I/O: `sink` is a callable.
"""

from __future__ import annotations

from collections.abc import Callable

LONGEST_LINE = 16 * 1024 * 1024
"""How many bytes of an unfinished line are kept; a longer line is passed on unread."""


class Lane:
    """Cuts a stream into lines. `look` may return several lines, or none to drop one.

    A line beyond the bound goes on, unless `drop` is given: then it is dropped and that is called.
    """

    def __init__(
        self,
        look: Callable[[bytes], bytes],
        matters: Callable[[bytes], bool],
        sink: Callable[[bytes], None],
        longest: int = LONGEST_LINE,
        drop: Callable[[], None] | None = None,
    ) -> None:
        self._look = look
        self._matters = matters
        self._sink = sink
        self._longest = longest
        self._drop = drop
        self._rest: list[bytes] = []
        self._size = 0
        self._passing = False
        self._held: list[bytes] = []
        self._unfinished = False

    def feed(self, chunk: bytes) -> None:
        """Take in what arrived."""
        if self._passing:
            chunk = self._finish_passing(chunk)
        cut = chunk.rfind(b"\n") + 1
        if cut:
            whole = chunk[:cut]
            if self._rest:
                whole = b"".join((*self._rest, whole))
                self._rest, self._size = [], 0
            self._sink(self._shown(whole) if self._matters(whole) else whole)
            chunk = chunk[cut:]
        if chunk:
            self._keep(chunk)

    def put(self, lines: bytes) -> None:
        """Add lines of our own; they wait while somebody's overlong line is under way."""
        if not lines:
            return
        if self._passing:
            self._held.append(lines)
        else:
            self._sink(b"\n" + lines if self._unfinished else lines)
            self._unfinished = False

    def end(self) -> None:
        """The stream ended: its last line counts, and what is put now does not fall into it."""
        rest, held = b"".join(self._rest), b"".join(self._held)
        last = self._look(rest) if rest and self._matters(rest) else rest
        cut_off = self._passing and self._drop is None
        self._rest, self._size, self._passing, self._held = [], 0, False, []
        if last:
            self._sink(last)
        self._unfinished = cut_off or (not last.endswith(b"\n") if last else self._unfinished)
        self.put(held)

    def _shown(self, whole: bytes) -> bytes:
        lines = whole.split(b"\n")
        return b"".join([self._look(line + b"\n") for line in lines[:-1]])

    def _keep(self, part: bytes) -> None:
        self._rest.append(part)
        self._size += len(part)
        if self._size > self._longest:
            self._pass(b"".join(self._rest))
            if self._drop is not None:
                self._drop()
            self._rest, self._size, self._passing = [], 0, True

    def _pass(self, part: bytes) -> None:
        if self._drop is None:
            self._sink(part)

    def _finish_passing(self, chunk: bytes) -> bytes:
        """The rest of an overlong line goes on; gives what follows it."""
        end = chunk.find(b"\n") + 1
        if not end:
            self._pass(chunk)
            return b""
        self._pass(chunk[:end])
        self._passing = False
        held, self._held = self._held, []
        self.put(b"".join(held))
        return chunk[end:]
