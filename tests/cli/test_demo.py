"""`tidings demo` is bounded, plain in a pipe, and shows what it promises."""

from __future__ import annotations

import subprocess
import sys

from tidings.cli.demo import ROUTES, leaves


def play(**environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", "from tidings.cli.main import run; run()", "demo"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env={"PATH": "", **environment},
    )
    assert done.stderr == ""
    return done.stdout


def test_in_a_pipe_it_is_plain_and_tells_the_whole_life() -> None:
    shown = play()
    assert "\x1b" not in shown
    for word in (*ROUTES, "Inject", "Turn 1", "Post-turn 2", "1 expired, 0 still pending"):
        assert word in shown
    told = [line.split()[1] for line in shown.splitlines() if line.strip()[:1].isdigit()]
    assert told == ["injected", "injected", "fired", "fired", "expired", "fired", "expired"]


def test_on_a_wide_terminal_the_routes_stand_side_by_side_and_in_colour() -> None:
    shown = play(COLUMNS="150", FORCE_COLOR="1", TERM="xterm-256color")
    assert "\x1b[" in shown
    assert any(all(name in line for name in ROUTES) for line in shown.splitlines())


def test_leaves_name_the_place_of_every_text() -> None:
    body = {"system": "s", "messages": [{"role": "user", "content": [{"type": "text", "text": "t"}]}]}
    assert list(leaves(body)) == [("system", "s"), ("messages[0] user[0]", "t")]
