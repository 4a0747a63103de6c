"""Words, and which of them are worth looking up."""

from __future__ import annotations

import pytest

from tidings.recall.query import KEPT_IF_SMALL, prune
from tidings.recall.tokens import LONGEST, tokens


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Build cancels in-flight calls!", ["build", "cancels", "in", "flight", "calls"]),
        ("a b cc snake_case x1", ["cc", "snake", "case", "x1"]),
        ("Größe ΣΊΣΥΦΟΣ 東京 ДОМ", ["größe", "σίσυφος", "東京", "дом"]),
        ("cafe\u0301 ＦＵＬＬ", ["café", "full"]),
        ('"OR" AND* NEAR(x) ^col: -not', ["or", "and", "near", "col", "not"]),
        ("👩‍💻 \x00 \ud800 .", []),
        ("z" * 100, ["z" * LONGEST]),
    ],
)
def test_words_are_lower_case_alphanumeric_runs_longer_than_one(text: str, words: list[str]) -> None:
    assert tokens(text) == words


def test_words_in_more_than_five_percent_of_many_facts_are_left_out() -> None:
    assert prune({"the": 9_000, "edge": 500, "over": 501, "rare": 3, "none": 0}, 10_000) == ("rare", "edge")


def test_the_five_rarest_words_are_kept_of_many_facts() -> None:
    found = {f"word{number}": number for number in range(20, 0, -1)}
    assert prune(found, 10_000) == ("word1", "word2", "word3", "word4", "word5")


def test_when_all_words_are_common_the_rarest_that_can_be_afforded_are_kept() -> None:
    assert prune({"aa": 9_000, "bb": 1_000, "cc": 1_400, "dd": 2_000}, 10_000) == ("bb", "cc")
    assert prune({"aa": 9_000, "bb": 8_000}, 10_000) == ("bb",)


def test_a_small_namespace_is_asked_with_common_words_too() -> None:
    found = {f"word{number}": number for number in range(1, 51)}
    assert prune(found, 60) == tuple(f"word{number}" for number in range(1, KEPT_IF_SMALL + 1))
    assert prune({}, 60) == prune({}, 60_000) == ()
