"""What a user decided for good, read back from the log."""

from __future__ import annotations

import pytest

from tidings.agent.tools.rules import Rule
from tidings.bridge.served.decisions import Decided, Decisions
from tidings.bridge.served.gate import MODES
from tidings.log import open_log


def test_the_last_mode_and_every_answer_are_read_back_newest_first() -> None:
    log = open_log("memory:")
    first, second = Rule("allow", "write_file"), Rule("deny", "run_command", {"command": "rm"}, "never")
    written = Decisions(log, "s1")
    written.chosen(MODES[1])
    written.answered(first)
    written.chosen(MODES[2])
    written.answered(second)
    assert Decisions(log, "s1").read() == Decided(MODES[2], (second, first))
    assert Decisions(log, "s2").read() == Decided()


def test_what_cannot_be_read_is_asked_about_again(caplog: pytest.LogCaptureFixture) -> None:
    log = open_log("memory:")
    log.append("session.s1.approvals", "approval.mode", {"mode": "a mode of tomorrow"})
    log.append("session.s1.approvals", "approval.always", {"rule": {"action": "maybe", "tool": "*"}})
    assert Decisions(log, "s1").read() == Decided()
    assert "an answer in the log cannot be read" in caplog.text
