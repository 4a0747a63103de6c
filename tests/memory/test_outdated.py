"""Without a key: which of two statements is shown when both speak of the same, and which stays."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.memory.opening import NOW, VARIANTS, open_store, texts
from tidings.memory.sameness import is_akin, is_change, is_variant
from tidings.memory.store import MemoryStore
from tidings.memory.words import Stems

DAY = 86_400_000


@pytest.fixture(params=VARIANTS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MemoryStore]:
    with open_store(tmp_path / "memory.db", request.param) as opened:
        for number, text in enumerate(("The printer takes A3 paper.", "Ingrid owns the customs module.")):
            opened.remember(text=text, created=NOW - number)
        yield opened


def tell(store: MemoryStore, *statements: str, **more: object) -> None:
    """Remember these, a day apart."""
    for number, text in enumerate(statements):
        store.remember({"text": text, "created": NOW + number * DAY, **more})
    store.warm_up()


def test_the_newer_of_two_that_open_alike_is_shown(store: MemoryStore) -> None:
    tell(store, "Mobile payments are handled by Kollo.", "Mobile payments are handled by Paysta.")
    assert texts(store, "Who handles mobile payments?") == ["Mobile payments are handled by Paysta."]


def test_a_statement_that_says_that_something_changed_takes_the_olders_place(store: MemoryStore) -> None:
    newer = "Femke handed the newsletter over to Idris."
    tell(store, "The newsletter of the shop is written by Femke.", newer)
    assert texts(store, "Who writes the newsletter of the shop?") == [newer]


def test_two_that_answer_the_same_question_give_way_to_the_newer(store: MemoryStore) -> None:
    newer = "Receipts are printed once; the second copy goes to the archive."
    tell(store, "Receipts are printed in two copies.", newer)
    assert texts(store, "How many copies of receipts are printed?") == [newer]


def test_what_is_about_something_else_gives_way_to_nobody(store: MemoryStore) -> None:
    tell(store, "The staging host is s1.example.", "The production host is p1.example.")
    tell(store, "The limit for uploads is 10 MB.", "The limit for exports is 50 MB.")
    assert texts(store, "What is the staging host?")[0] == "The staging host is s1.example."
    assert texts(store, "What is the limit for uploads?")[0] == "The limit for uploads is 10 MB."


def test_what_was_told_is_not_undone_by_what_is_said_in_passing(store: MemoryStore) -> None:
    told = "The cold store alarm rings at six degrees."
    tell(store, told)
    tell(store, "I think the cold store alarm rings at nine degrees.", kind="turn", conversation="c")
    assert told in texts(store, "At how many degrees does the cold store alarm ring?")


def test_a_question_puts_nothing_out_of_force(store: MemoryStore) -> None:
    told = "The cold store alarm rings at six degrees."
    tell(store, told, "Does the cold store alarm ring at six degrees now?")
    assert told in texts(store, "At how many degrees does the cold store alarm ring?")


def test_an_assistant_puts_nothing_out_of_force_that_the_user_said(store: MemoryStore) -> None:
    told = "The cold store alarm rings at six degrees."
    tell(store, told)
    nine = "The cold store alarm rings at nine degrees now."
    tell(store, nine, role="assistant", created=NOW + DAY)
    assert told in texts(store, "At how many degrees does the cold store alarm ring?")


def test_when_the_newer_stands_in_the_conversation_the_older_does_not_come_back(store: MemoryStore) -> None:
    newer = "Mobile payments are handled by Paysta."
    tell(store, "Mobile payments are handled by Kollo.", newer)
    history = [{"role": "user", "content": f"Remember: {newer}"}]
    assert texts(store, "Who handles mobile payments?", recent_history=history) == []


@pytest.mark.parametrize(
    ("older", "newer", "rules"),
    [
        ("The API host is api1.", "The API host is api2.", (True, False, True)),
        ("The queue is RabbitMQ.", "The queue was changed from RabbitMQ to NATS.", (False, True, True)),
        ("The queue is RabbitMQ.", "The queue is now watched in Grafana.", (False, False, False)),
        ("Die Schnittstelle gehört Anna.", "Die Schnittstelle gehört jetzt Bernd.", (False, True, True)),
        ("", "", (False, False, False)),
        ("42", "43 now", (False, False, False)),
    ],
)
def test_the_rules_by_themselves(older: str, newer: str, rules: tuple[bool, bool, bool]) -> None:
    with closing(Stems()) as stems:
        old, new = stems.of(older), stems.of(newer)
    assert (is_variant(new, old), is_change(newer, new, old), is_akin(new, old)) == rules
