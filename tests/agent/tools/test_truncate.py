"""Long text loses its middle, and the mark tells the truth about it."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.agent.tools.calling import call, outcome, receipts
from tidings.agent.port import Outcome
from tidings.agent.tools.truncate import SMALLEST, Clip, Clipped, truncate
from tidings.errors import CallerError

MARK = re.compile(r"\n\[… (\d+) of (\d+) characters left out here …\]\n")


LONG = st.builds(
    lambda unit, size: (unit * size)[:size], st.text(min_size=1, max_size=20), st.integers(0, 3000)
)


@given(LONG, st.integers(SMALLEST, 1000))
@example("x" * 1000, 999)
@example("x" * 999, 999)
def test_the_text_fits_and_the_mark_counts_exactly_what_is_left_out(text: str, limit: int) -> None:
    clipped = truncate(text, limit)
    assert (clipped.truncated, clipped.total) == (len(text) > limit, len(text))
    assert len(clipped.text) <= limit
    if clipped.truncated:
        head, left_out, total, tail = MARK.split(clipped.text)
        assert text.startswith(head)
        assert text.endswith(tail)
        assert (int(left_out), int(total)) == (len(text) - len(head) - len(tail), len(text))
        assert abs(len(head) - len(tail)) <= 1
        assert len(clipped.text) > limit - 5
    else:
        assert clipped.text == text


@given(st.lists(LONG, max_size=12), st.integers(SMALLEST, 500))
def test_a_stream_is_clipped_like_the_whole_text(pieces: list[str], limit: int) -> None:
    clip = Clip(limit)
    for piece in pieces:
        clip.feed(piece)
    assert clip.result() == truncate("".join(pieces), limit)


def test_an_endless_stream_is_never_held_whole() -> None:
    clip = Clip(1000)
    for _ in range(100_000):
        clip.feed("x" * 100)
    assert clip._tail_size <= 5 * 1000
    assert clip.result() == Clipped(truncate("x" * 10_000_000, 1000).text, True, 10_000_000)


def test_a_limit_that_leaves_only_the_mark_is_refused() -> None:
    with pytest.raises(CallerError, match="output limit is 10; give 200"):
        Clip(10)


def test_a_result_that_is_too_long_is_marked_with_its_size() -> None:
    def shout(times: int) -> str:
        return "ab" * times

    fits, long = receipts([shout], call("shout", times=500), call("shout", times=501), max_output=1000)
    assert fits.outcome == Outcome(text="ab" * 500)
    assert (long.outcome.truncated, long.outcome.original_size) == (True, 1002)
    assert long.outcome.text == truncate("ab" * 501, 1000).text


def test_the_default_limit_is_thirty_thousand_characters() -> None:
    def shout(times: int) -> str:
        return "a" * times

    assert not outcome(shout, times=30_000).truncated
    assert outcome(shout, times=30_001).truncated


def test_a_size_that_the_tool_knows_better_is_kept() -> None:
    def partial() -> Outcome:
        return Outcome(text="a" * 2000, truncated=True, original_size=9999)

    def modest() -> Outcome:
        return Outcome(text="cut", truncated=True)

    long, short = receipts([partial, modest], call("partial"), call("modest"), max_output=1000)
    assert (long.outcome.truncated, long.outcome.original_size) == (True, 9999)
    assert short.outcome == Outcome(text="cut", truncated=True, original_size=3)


def test_text_that_cannot_be_written_is_made_writable() -> None:
    def broken() -> str:
        return "a\ud800b"

    assert outcome(broken) == Outcome(text="a?b")
