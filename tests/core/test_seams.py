"""The table seam × mode, and how modes are read (decision 12)."""

from __future__ import annotations

import pytest

from tidings.core.seams import DRAINS, MODES, NEEDS, SEAMS, drains, read_mode
from tidings.core.trust import POWERS
from tidings.errors import DiagnosticError

INTERRUPT, FINISH, AUDIT = MODES
EXPECTED = {
    "iteration_start": {INTERRUPT, FINISH},
    "pre_compact": set(),
    "post_compact": set(),
    "pre_tool_dispatch": {INTERRUPT},
    "post_tool_dispatch": {INTERRUPT, FINISH},
    "iteration_end": {INTERRUPT, FINISH},
    "daemon_idle_pre": {INTERRUPT},
    "daemon_idle_post": {INTERRUPT},
    "loop_exit": {AUDIT},
}


def test_the_catalogue_is_closed_and_drains_what_the_specification_says() -> None:
    assert {seam: {mode for mode in MODES if drains(seam, mode)} for seam in SEAMS} == EXPECTED
    assert set(DRAINS) == set(SEAMS)


def test_only_the_idle_seams_ask_an_external_sender_for_a_grant() -> None:
    refused = {seam for seam in SEAMS for mode in DRAINS[seam] if not drains(seam, mode, grants=())}
    assert refused == {"daemon_idle_pre", "daemon_idle_post"}
    granted = {seam: {mode for mode in MODES if drains(seam, mode, ("wake_idle",))} for seam in SEAMS}
    assert granted == EXPECTED


def test_every_grant_that_a_seam_asks_for_is_a_known_power() -> None:
    assert set(NEEDS.values()) <= set(POWERS)


@pytest.mark.parametrize("mode", MODES)
def test_a_mode_is_read_as_it_is(mode: str) -> None:
    assert read_mode(mode, "c") == (mode, False)


def test_no_mode_means_finish_step_and_the_former_name_is_told() -> None:
    assert read_mode(None, "c") == ("finish_step", False)
    assert read_mode("wait_for_completion", "c") == ("audit_only", True)


@pytest.mark.parametrize("mode", ["", "steer", "FINISH_STEP", 3, [], {}])
def test_unknown_modes_are_refused(mode: object) -> None:
    with pytest.raises(DiagnosticError) as caught:
        read_mode(mode, "session/remind")
    assert caught.value.code == "HARN-RMD-002"
