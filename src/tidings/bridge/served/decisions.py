"""What the user of a session decided for good, kept in the log: its mode, and the answers "always".

A session outlives the process that serves it, so what holds "in this session" must too. One small topic
for each session, folded when it is served again. Called by `session.py`.
"""

from __future__ import annotations

import logging

import msgspec

from tidings.agent.tools.rules import Rule
from tidings.bridge.served.gate import DEFAULT_MODE, Mode, find_mode
from tidings.core.records import transcript_topic
from tidings.log.port import EventLog
from tidings.log.record import LogRecord
from tidings.log.search import kept
from tidings.shell.journal import Journal

_MODE, _ANSWER = "approval.mode", "approval.always"

_logger = logging.getLogger(__name__)


class Decided(msgspec.Struct, frozen=True):
    """The mode, and the rules that answers made, newest first."""

    mode: Mode = DEFAULT_MODE
    rules: tuple[Rule, ...] = ()


class Decisions:
    """The decisions about one session in one log."""

    def __init__(self, log: EventLog, session_id: str) -> None:
        self._log = log
        self._journal = Journal(log)
        self._topic = transcript_topic(session_id).removesuffix("transcript") + "approvals"

    def chosen(self, mode: Mode) -> None:
        """Keep the mode."""
        self._journal.write([(self._topic, [_MODE], [{"mode": mode.id}])])

    def answered(self, rule: Rule) -> None:
        """Keep what an answer for good means."""
        self._journal.write([(self._topic, [_ANSWER], [{"rule": msgspec.to_builtins(rule)}])])

    def read(self) -> Decided:
        """What was decided so far."""
        decided = Decided()
        for record in kept(self._log, self._topic):
            decided = folded(decided, record)
        return decided


def folded(before: Decided, record: LogRecord) -> Decided:
    """`before` with what one record says; what cannot be read is asked about again."""
    if record.kind == _MODE:
        mode = find_mode(record.payload.get("mode")) or before.mode
        return Decided(mode, before.rules)
    try:
        rule = msgspec.convert(record.payload.get("rule"), Rule)
    except msgspec.ValidationError as error:
        _logger.warning("an answer in the log cannot be read: %s", error)
        return before
    return Decided(before.mode, (rule, *before.rules))
