"""What every memory does, by words alone and with similarity: one contract for both."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.memory.opening import NOW, VARIANTS, open_store, texts
from tidings.memory.answer import Answer, Budget
from tidings.memory.entry import Memory, digest
from tidings.memory.failure import MemoryInputError, MemoryUnavailableError
from tidings.memory.store import MemoryStore

DEPLOY = "We deploy to production on Tuesdays and Thursdays only."
OWNER = "Ingrid owns the customs module and reviews every change to it."
PAPER = "The printer takes A3 paper from the lower tray."


@pytest.fixture(params=VARIANTS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MemoryStore]:
    with open_store(tmp_path / "memory.db", request.param) as opened:
        for number, text in enumerate((DEPLOY, OWNER, PAPER)):
            opened.remember(text=text, source=f"note {number}", created=NOW - number)
        opened.warm_up()
        yield opened


def test_a_question_gets_the_memory_that_answers_it_with_relevance_source_date_and_reason(
    store: MemoryStore,
) -> None:
    answer = store.answer("On which days may we deploy to production?")
    assert [(item.content, item.source, item.date) for item in answer.items] == [
        (DEPLOY, "note 0", "2026-05-01T12:00:00.000Z")
    ]
    assert 0.2 <= answer.items[0].relevance <= 1
    assert answer.items[0].why.startswith("words: deploy, production")
    assert (answer.silent, answer.late) == ("", False)


@pytest.mark.parametrize(
    "message",
    [
        "Thanks, that was great!",
        "ok, continue",
        "",
        "   ",
        "?",
        "12345",
        "How does photosynthesis work?",
        "Who painted Guernica?",
        "Write a haiku about autumn leaves.",
    ],
)
def test_small_talk_and_other_topics_get_silence(store: MemoryStore, message: str) -> None:
    answer = store.answer(message)
    assert answer.items == ()
    assert answer.silent != ""


def test_another_project_never_sees_a_memory(store: MemoryStore) -> None:
    store.remember(text="The kiosk password rotation happens on Mondays.", project="kiosk")
    asked = "When does the kiosk password rotation happen?"
    assert texts(store, asked) == []
    assert texts(store, asked, project="gate") == []
    assert texts(store, asked, project="kiosk") == ["The kiosk password rotation happens on Mondays."]


def test_what_holds_everywhere_is_seen_in_every_project(store: MemoryStore) -> None:
    store.remember(text="The kiosk runs Debian.", project="kiosk")
    assert texts(store, "When may we deploy to production?", project="kiosk") == [DEPLOY]


def test_what_stands_in_the_recent_history_is_not_said_again(store: MemoryStore) -> None:
    asked = "When may we deploy to production?"
    told = [{"role": "assistant", "content": f"As you said: {DEPLOY} Shall I wait?"}]
    assert texts(store, asked) == [DEPLOY]
    assert texts(store, asked, recent_history=told) == []


def test_what_the_model_has_before_it_is_not_said_again_by_id_or_hash(store: MemoryStore) -> None:
    asked = "When may we deploy to production?"
    (item,) = store.answer(asked).items
    assert item.sha == digest(DEPLOY)
    for known in (item.id, item.sha, f"sha256:{item.sha}"):
        assert texts(store, asked, already_in_context=[known]) == []


def test_a_short_message_borrows_words_from_the_one_before(store: MemoryStore) -> None:
    before = [{"role": "user", "content": "Tell me about deploying to production."}]
    assert texts(store, "on which days is that?", recent_history=before) == [DEPLOY]
    assert texts(store, "on which days is that?") == []


def test_the_newest_memory_with_a_key_counts(store: MemoryStore) -> None:
    for number, host in enumerate(("one", "two", "three")):
        store.remember(text=f"The API host is api-{host}.", key="api-host", created=NOW + number)
    assert texts(store, "What is the API host?") == ["The API host is api-three."]


def test_a_memory_that_replaces_another_takes_its_place_and_that_of_those_before(
    store: MemoryStore,
) -> None:
    first = store.remember(text="Lunch for the team is at noon.", created=NOW - 3)
    second = store.remember(
        text="Our midday meal moved to one o'clock.", replaces=first.memory.id, created=NOW - 2
    )
    third = store.remember(
        text="Lunch, the team says, is cancelled in May.", replaces=[second.memory.id], created=NOW - 1
    )
    shown = [memory.id for memory in store.list()]
    assert {first.memory.id, second.memory.id}.isdisjoint(shown)
    assert third.memory.id in shown


def test_an_older_statement_about_the_same_yields_to_the_newer_one(store: MemoryStore) -> None:
    store.remember(text="The staging database is Postgres 14.", created=NOW - 9)
    store.remember(text="The staging database is Postgres 16.", created=NOW - 8)
    assert texts(store, "Which Postgres does the staging database run?") == [
        "The staging database is Postgres 16."
    ]
    assert (
        texts(store, "Was the staging database on Postgres 14?")[0]
        == "The staging database is Postgres 14."
    )


def test_saying_the_same_again_stores_nothing_twice_and_counts_as_said_now(store: MemoryStore) -> None:
    before = store.count()
    again = store.remember(text=f"  {DEPLOY.upper()} ", created=NOW + 5)
    assert (again.new, again.memory.created, store.count()) == (False, NOW + 5, before)


def test_a_memory_surfaces_only_while_it_is_valid(store: MemoryStore) -> None:
    store.remember(text="The lift is broken.", valid_from=NOW + 10, valid_to=NOW + 20)
    seen = [bool(texts(store, "Is the lift broken?", now=NOW + at)) for at in (9, 10, 19, 20)]
    assert seen == [False, True, True, False]


def test_a_newer_memory_with_the_key_counts_only_while_it_is_valid(store: MemoryStore) -> None:
    store.remember(text="The door code is on the blue card.", key="door")
    store.remember(
        text="The door code is on the red card.", key="door", valid_from=NOW + 10, valid_to=NOW + 20
    )
    found = [texts(store, "Where is the door code?", now=NOW + at) for at in (5, 15, 25)]
    blue, red = "The door code is on the blue card.", "The door code is on the red card."
    assert found == [[blue], [red], [blue]]


def test_an_answer_writes_nothing(store: MemoryStore) -> None:
    sides = [Path(f"{store.path}{side}") for side in ("", "-wal")]
    before = [side.read_bytes() for side in sides]
    store.answer("When may we deploy to production?")
    store.recall("customs")
    assert [side.read_bytes() for side in sides] == before


def test_what_was_surfaced_is_counted_when_told(store: MemoryStore) -> None:
    (item,) = store.answer("When may we deploy to production?").items
    store.mark_surfaced([item.id, "unknown"])
    kept = store.get(item.id)
    assert kept is not None
    assert (kept.surfaced, kept.last_surfaced) == (1, NOW)


def test_recall_shows_weaker_matches_that_would_not_surface(store: MemoryStore) -> None:
    asked = "paper for the annual report of the board of directors"
    assert texts(store, asked) == []
    assert [item.content for item in store.recall(asked).items] == [PAPER]


def test_a_pinned_memory_is_preferred(store: MemoryStore) -> None:
    asked = "When may we deploy to production?"
    (before,) = store.answer(asked).items
    store.remember(text=DEPLOY, pinned=True)
    (after,) = store.answer(asked).items
    assert after.relevance > before.relevance
    assert after.why.endswith("; pinned")


def test_what_an_assistant_said_counts_less_than_what_the_user_said(store: MemoryStore) -> None:
    store.remember(text="The valve closes at nine bar.", role="assistant")
    store.remember(text="The valve opens at three bar.", role="user", created=NOW - 50)
    found = store.recall("valve bar").items
    assert [item.content for item in found] == [
        "The valve opens at three bar.",
        "The valve closes at nine bar.",
    ]


def test_a_question_asked_before_is_no_answer(store: MemoryStore) -> None:
    store.remember(text="When may we deploy to production?", kind="turn", created=NOW + 1)
    assert texts(store, "When may we deploy to production?") == [DEPLOY]


def test_a_short_turn_is_found_by_the_turns_around_it(store: MemoryStore) -> None:
    turn = {"kind": "turn", "conversation": "c1"}
    store.remember(turn, text="Which colour should the harbour crane icon get?", created=NOW - 3)
    store.remember(turn, text="Moss green please.", created=NOW - 2)
    found = {one.row.memory.text: one for one in store.evidence("colour of the crane icon")}
    assert found["Moss green please."].matched == ()
    assert 0.2 < found["Moss green please."].coverage < 0.4


def test_the_list_is_newest_first_and_can_show_what_no_longer_holds(store: MemoryStore) -> None:
    store.remember(text="The API host is old.", key="api-host", created=NOW - 10)
    store.remember(text="The API host is new.", key="api-host", created=NOW + 10)
    assert [memory.text for memory in store.list(limit=2)] == ["The API host is new.", DEPLOY]
    assert len(store.list(outdated=True)) == len(store.list()) + 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "`text` must be a non-blank string; it is missing"),
        ({"text": " "}, "`text` must be a non-blank string; got ' '"),
        ({"text": "x" * 8_001}, "`text` must have at most 8000 characters; it has 8001"),
        ({"text": "x", "kind": "secret"}, "`kind` must be one of note, preference, decision, fact, turn"),
        ({"text": "x", "valid_to": "soon"}, "`valid_to` must be ISO 8601"),
        ({"text": "x", "valid_from": 2, "valid_to": 1}, "`valid_to` must be after `valid_from`"),
        ({"text": "x", "txt": 1}, "unknown key `txt`; did you mean `text`?"),
        ({"text": "x", "replaces": "nobody"}, "`replaces` names 'nobody', which is not in"),
        ({"text": "\ud800"}, "`text` must be valid Unicode"),
    ],
)
def test_bad_options_name_the_field_and_the_fix_and_store_nothing(
    store: MemoryStore, options: dict[str, object], said: str
) -> None:
    before = store.count()
    with pytest.raises(MemoryInputError) as refused:
        store.remember(options)
    assert said in str(refused.value)
    assert store.count() == before


def test_a_history_that_is_none_is_refused(store: MemoryStore) -> None:
    with pytest.raises(MemoryInputError, match="item 1 must have `role` and `content`"):
        store.answer("Deploy?", [{"role": "user", "content": "x"}, {"role": "user"}])


def test_a_closed_store_says_so(tmp_path: Path) -> None:
    store = open_store(tmp_path / "memory.db")
    store.close()
    store.close()
    with pytest.raises(MemoryUnavailableError, match="is closed; open it again"):
        store.answer("When may we deploy?")


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(message=st.text(max_size=300), most=st.integers(0, 300), items=st.integers(0, 6))
def test_the_budget_is_never_exceeded_whatever_is_asked(
    store: MemoryStore, message: str, most: int, items: int
) -> None:
    long = "Deploying to production needs a plan. " * 12 + "Customs paper goes to the printer. " * 9
    store.remember(text=long.strip())
    answer = store.answer(
        f"deploy production customs paper {message}", budget=Budget(max_items=items, max_chars=most)
    )
    assert len(answer.items) <= items
    assert sum(len(item.content) for item in answer.items) <= most
    assert all(item.cut == (store.get(item.id).text != item.content) for item in answer.items)  # type: ignore[union-attr]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    ages=st.lists(st.integers(0, 1_000), min_size=1, max_size=6, unique=True),
    until=st.lists(st.integers(-500, 500), min_size=6, max_size=6),
)
def test_the_newest_valid_memory_of_a_key_wins_in_whatever_order_they_arrive(
    tmp_path: Path, ages: list[int], until: list[int]
) -> None:
    path = tmp_path / "newest.db"
    path.unlink(missing_ok=True)
    with open_store(path) as store:
        made: list[Memory] = []
        for age, end in zip(ages, until, strict=False):
            options = {"text": f"The host is number{age}.", "key": "host", "created": NOW - age}
            made.append(store.remember(options, valid_to=NOW + end).memory)
        valid = [one for one in made if one.valid_to is not None and one.valid_to > NOW]
        newest = max(valid, key=lambda one: one.created, default=None)
        assert [memory.id for memory in store.list()] == ([] if newest is None else [newest.id])


def test_ten_megabytes_of_message_are_answered(store: MemoryStore) -> None:
    answer = store.answer("x" * 10_000_000)
    assert isinstance(answer, Answer)
    pasted = "log line without meaning\n" * 40_000
    assert texts(store, f"When may we deploy to production?\n{pasted}") == [DEPLOY]
