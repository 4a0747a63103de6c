"""Delivered reminders that nothing ends: they are kept track of up to a bound, then let go and told."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.acp.proxy.script import TAKES, Script, from_editor, wrapped
from tidings.acp.proxy import desk
from tidings.log import open_log


@pytest.fixture
def of_four(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Script]:
    monkeypatch.setattr(desk, "STANDING", 4)
    return Script


def expired(told: list[dict[str, object]]) -> list[tuple[object, object]]:
    updates = [m["params"]["update"] for m in told if "params" in m]  # type: ignore[index]
    return [
        (u["reminderId"], u["phase"])
        for u in updates  # type: ignore[index]
        if u["sessionUpdate"] == "reminder_expired"
    ]


def test_beyond_the_bound_the_older_half_is_let_go_and_told(of_four: Callable[..., Script]) -> None:
    log = open_log("memory:")
    script = of_four(log).open("s1", client=TAKES)
    told: list[tuple[object, object]] = []
    for number in range(5):
        script.remind(f"news {number}", id=f"r{number}", dedupeKey=f"k{number}")
        asked, _ = script.prompt()
        told += expired(script.answer(asked))
    assert told == [(f"r{number}", "compacted_out") for number in range(3)]
    again = Script(log).open("s1")
    kept = again.interposer.places.find("s1")
    assert kept is not None
    assert [reminder.id for reminder in kept.session.transcript.pending] == ["r3", "r4"]
    assert again.turn() == []


def test_what_was_let_go_is_not_taken_back_in_words(of_four: Callable[..., Script]) -> None:
    script = of_four().open("s1")
    for number in range(5):
        script.remind(f"news {number}", id=f"r{number}", dedupeKey="same" if number == 0 else f"k{number}")
        script.turn()
    script.remind("newer", dedupeKey="same")
    assert script.turn() == [wrapped(from_editor("newer"))]
