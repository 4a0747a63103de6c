from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.diagnostics.visible import visible

CASES = {
    "plain text, ünïcödé 漢字 🙂": "plain text, ünïcödé 漢字 🙂",
    "\x1b[31mred\x1b[0m": "\\x1b[31mred\\x1b[0m",
    "a\nb\r\tc": "a\\nb\\r\\tc",
    "\x7f\x9b": "\\x7f\\x9b",
    "\u202eabc\u2028": "\\u202eabc\\u2028",
    "\ud800": "\\ud800",
}


@pytest.mark.parametrize(("text", "shown"), CASES.items())
def test_what_could_move_or_hide_text_is_written_as_an_escape(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(st.text())
def test_nothing_that_a_terminal_obeys_is_left(text: str) -> None:
    shown = visible(text)
    assert not [c for c in shown if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")]
    assert visible(shown) == shown
