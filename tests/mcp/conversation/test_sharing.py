"""One budget for several servers: fair, in order, and nothing twice."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tidings.mcp.conversation.sharing import Portion, Shared, share
from tidings.mcp.conversation.wire import Item, Room


def test_within_the_budget_everything_goes_in_best_first_and_says_where_it_is_from() -> None:
    items = [Item("older", 0.2), Item("newer", 0.9, "notes.md"), Item("a text")]
    body = "a text\n\nnewer\n(source: notes.md, relevance: 0.90)\n\nolder\n(relevance: 0.20)"
    assert share([("memory", items)], Room()) == Shared((Portion("memory", body, 3),), {})


def test_the_date_is_shown_and_the_ids_of_what_goes_in_are_kept() -> None:
    dated = Item("new", 0.9, "notes", "2026-03-01", "i1")
    items = [dated, Item("long " * 99, 0.5, id="i2"), Item("x", 0.1)]
    assert share([("memory", items)], Room(bytes=80)) == Shared(
        (Portion("memory", "new\n(source: notes, date: 2026-03-01, relevance: 0.90)", 1, ("i1",)),),
        {"memory": 2},
    )


def test_a_greedy_server_leaves_room_for_a_modest_one() -> None:
    shared = share(
        [("greedy", [Item("x" * 60), Item("y" * 60)]), ("modest", [Item("z" * 30)])], Room(bytes=100)
    )
    assert shared == Shared((Portion("greedy", "x" * 60, 1), Portion("modest", "z" * 30, 1)), {"greedy": 1})


def test_two_that_want_more_than_there_is_get_half_each() -> None:
    shared = share([("a", [Item("x" * 400)]), ("b", [Item("y" * 500)])], Room(bytes=200))
    assert [(portion.server, len(portion.body)) for portion in shared.portions] == [("a", 100), ("b", 100)]


def test_what_is_left_over_goes_to_the_first_in_the_order() -> None:
    answers = [("first", [Item("a" * 30), Item("b" * 30)]), ("second", [Item("c" * 30), Item("d" * 30)])]
    shared = share(answers, Room(bytes=100))
    assert shared == Shared(
        (Portion("first", "a" * 30 + "\n\n" + "b" * 30, 2), Portion("second", "c" * 30, 1)), {"second": 1}
    )


def test_a_single_text_that_is_too_long_is_cut_with_a_mark() -> None:
    shared = share([("memory", [Item("x" * 500)])], Room(bytes=100))
    assert shared.portions[0].body == "x" * 55 + "\n[truncated by tidings: 500 bytes, limit 100]"


def test_a_text_that_was_cut_for_fairness_is_whole_again_when_there_is_room() -> None:
    answers = [("one", [Item("x" * 70)]), ("two", [Item("y" * 20), Item("z" * 60)])]
    shared = share(answers, Room(bytes=100))
    assert shared == Shared((Portion("one", "x" * 70, 1), Portion("two", "y" * 20, 1)), {"two": 1})


def test_the_same_text_of_two_servers_is_shown_once_for_the_first() -> None:
    shared = share([("a", [Item("The  Schema")]), ("b", [Item("the schema"), Item("more")])], Room())
    assert shared == Shared((Portion("a", "The  Schema", 1), Portion("b", "more", 1)), {"b": 1})


def test_a_server_has_a_bound_of_items() -> None:
    shared = share([("a", [Item(str(number)) for number in range(9)])], Room(items=2))
    assert shared == Shared((Portion("a", "0\n\n1", 2),), {"a": 7})


@given(
    st.lists(st.lists(st.text(min_size=1, max_size=80).filter(str.strip), max_size=8), max_size=8),
    st.integers(0, 400),
    st.integers(1, 6),
)
def test_the_budget_holds_and_what_is_missing_is_counted(
    texts: list[list[str]], limit: int, most: int
) -> None:
    answers = [(f"s{number}", [Item(text.strip()) for text in given]) for number, given in enumerate(texts)]
    shared = share(answers, Room(bytes=limit, items=most))
    assert sum(len(portion.body.encode()) for portion in shared.portions) <= limit
    assert all(portion.items <= most for portion in shared.portions)
    kept = {portion.server: portion.items for portion in shared.portions}
    assert {name: kept.get(name, 0) + shared.left_out.get(name, 0) for name, _ in answers} == {
        name: len(items) for name, items in answers
    }
