"""Where records go: the active log, what they carry besides, and what happens when it fails.

`active_log` and `scope` set context variables for a block; the transforms of this package write
through `write`. A log that cannot be written never stops a session: the records wait, in order and
bounded, in the journal and go in with the next write; the error is reported once through
`logging`, and what the bound cost is written as a `log.gap` record. What is not urgent may share the
next commit, if one comes before the event loop has its turn.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock, RLock
from types import TracebackType
from typing import TYPE_CHECKING, TypeAlias

from tidings.core.records import LIFECYCLE_TOPIC, Alike, Change, Record, transcript_topic
from tidings.core.reminder import Payload
from tidings.errors import CallerError, LogError, LogUsageError
from tidings.log.entry import Draft, Lines, Series, Written
from tidings.log.pack import appender, drafts_of

if TYPE_CHECKING:
    from tidings.core.transcript import Transcript
    from tidings.log.port import EventLog

WAITING = 10_000
"""How many records wait for a log that cannot be written; beyond it the oldest are lost."""

Gathered: TypeAlias = list[Lines | Series]
"""What a step has written so far, in order."""
CallSoon: TypeAlias = Callable[[Callable[[], None]], object]
"""Has a function called when the event loop has its turn."""


class Journal:
    """The active log with its waiting records.

    Raises:
        CallerError: `log` is none.
    """

    def __init__(self, log: EventLog, waiting: int = WAITING) -> None:
        if not hasattr(log, "append_batch"):
            fix = "an event log, such as td.open_log('sqlite:///agent.db') gives"
            raise CallerError(f"`log` must be {fix}; got {log!r:.80}")
        self.log = log
        self.error: LogError | None = None
        self.lost = 0
        self.waiting: deque[Draft] = deque()
        self._bound = waiting
        self._lock = Lock()
        self._put_off: Gathered = []
        self._append = appender(log)

    def write(self, written: Written) -> None:
        """Write what is new after what waits; if the log refuses, it waits too. Any thread may.

        Raises:
            LogUsageError: something new that no log can hold; what was put off is written all the same.
        """
        with self._lock:
            put_off, self._put_off = self._put_off, []
            try:
                self._commit([*put_off, *written] if put_off else written)
            except LogUsageError:
                if put_off and written:
                    self._commit(put_off)
                raise

    def write_soon(self, written: Written, call_soon: CallSoon) -> None:
        """Write with the next commit, at the latest when the event loop has its turn."""
        with self._lock:
            self._put_off += written
        call_soon(self.flush)

    def flush(self) -> None:
        """Write what was put off, now."""
        if self._put_off:
            self.write(())

    def _commit(self, written: Written) -> None:
        try:
            if self.waiting or self.lost:
                self.log.append_batch([*self._gap(), *self.waiting, *drafts_of(written)])
            else:
                self._append(written)
        except LogError as error:
            self._wait(written, error)
        else:
            self._recovered()

    def _gap(self) -> list[Draft]:
        if not self.lost:
            return []
        return [(LIFECYCLE_TOPIC, "log.gap", {"lost": self.lost, "reason": str(self.error)})]

    def _wait(self, written: Written, error: LogError) -> None:
        if self.error is None:
            _report("error", f"the event log cannot be written, records wait: {error}")
        self.error = error
        self.waiting.extend(drafts_of(written))
        while len(self.waiting) > self._bound:
            self.waiting.popleft()
            self.lost += 1

    def _recovered(self) -> None:
        if self.error is not None:
            _report("warning", f"the event log works again, {self.lost} records lost")
            self.error, self.lost = None, 0
            self.waiting.clear()


def _report(level: str, message: str) -> None:
    import logging  # only a failing log pays for loading it

    getattr(logging.getLogger("tidings"), level)(message)


_journal: ContextVar[Journal | None] = ContextVar("tidings_journal", default=None)
_scope: ContextVar[Mapping[str, str | None] | None] = ContextVar("tidings_scope", default=None)
_NOWHERE: Mapping[str, str | None] = {}
_gathered: ContextVar[Gathered | None] = ContextVar("tidings_gathered", default=None)


@contextmanager
def active_log(log: EventLog) -> Iterator[Journal]:
    """Install `log` for a block: every transform in it writes its records there."""
    with active_journal(Journal(log)) as journal:
        yield journal


@contextmanager
def active_journal(journal: Journal) -> Iterator[Journal]:
    """Install a journal for a block, for those who keep one: sessions do."""
    token = _journal.set(journal)
    try:
        yield journal
    finally:
        _journal.reset(token)


@contextmanager
def scope(
    *, task_id: str | None = None, session_id: str | None = None, agent_id: str | None = None
) -> Iterator[None]:
    """Say for a block what records carry besides: the task, and session or agent where unknown."""
    given = {"task_id": task_id, "session_id": session_id, "agent_id": agent_id}
    token = _scope.set({**(_scope.get() or {}), **{k: v for k, v in given.items() if v is not None}})
    try:
        yield
    finally:
        _scope.reset(token)


def current_journal() -> Journal | None:
    """The journal of the innermost `active_log` block, if any."""
    return _journal.get()


def flush(journal: Journal | None) -> None:
    """Write what was put off in `journal`, or without one in the active one, now."""
    chosen = journal or _journal.get()
    if chosen is not None:
        chosen.flush()


class Step:
    """A block whose transforms write in one commit: after a crash all of it is there, or none.

    Nobody else holds `lock` meanwhile. The commit goes to `journal`, or without one to the active one, and
    with `soon` it may be a part of the next. A step inside a step is a part of it.
    """

    __slots__ = ("_gathering", "_installed", "_journal", "_lock", "_soon")

    def __init__(self, lock: RLock, journal: Journal | None, soon: CallSoon | None = None) -> None:
        self._lock = lock
        self._journal = journal
        self._soon = soon

    def __enter__(self) -> None:
        self._lock.acquire()
        self._installed = None if self._journal is None else _journal.set(self._journal)
        self._gathering = _gathered.set([]) if _gathered.get() is None else None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if self._gathering is not None:
                written, journal = _gathered.get(), _journal.get()
                _gathered.reset(self._gathering)
                if written and journal is not None:
                    if self._soon is None:
                        journal.write(written)
                    else:
                        journal.write_soon(written, self._soon)
        finally:
            if self._installed is not None:
                _journal.reset(self._installed)
            self._lock.release()


def write(transcript: Transcript, told: Sequence[Record | Alike], changes: Sequence[Change]) -> None:
    """Append to the active log what a transform of `transcript` did."""
    journal = _journal.get()
    if journal is None:
        return
    gathered = _gathered.get()
    written: Gathered = [] if gathered is None else gathered
    here, state = _scope.get() or _NOWHERE, transcript.state
    session_id = state.session_id or here.get("session_id")
    if told:
        context: Payload = {
            "session_id": session_id,
            "task_id": here.get("task_id"),
            "agent_id": state.agent_id or here.get("agent_id"),
        }
        written += gathered_of(LIFECYCLE_TOPIC, told, context)
    if changes and session_id is not None:
        payloads: list[Mapping[str, object]] = [change.payload for change in changes]
        if state.agent_id is not None:
            payloads = [{**payload, "agent_id": state.agent_id} for payload in payloads]
        written.append((transcript_topic(session_id), [change.kind for change in changes], payloads))
    if gathered is None and written:
        journal.write(written)


def gathered_of(topic: str, told: Sequence[Record | Alike], context: Payload) -> Gathered:
    """What is told on a topic, in order, all of it with its context."""
    found: Gathered = []
    kinds: list[str] = []
    payloads: list[Mapping[str, object]] = []
    for each in told:
        if isinstance(each, Record):
            kinds.append(each.kind)
            payloads.append(each.payload | context)
            continue
        if kinds:
            found.append((topic, kinds, payloads))
            kinds, payloads = [], []
        found.append(Series(topic, each.kind, each.field, each.values, each.rest | context))
    if kinds:
        found.append((topic, kinds, payloads))
    return found
