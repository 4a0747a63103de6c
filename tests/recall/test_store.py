"""A store of facts: what is stored is recalled, until it is taken back or over."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.recall.corpus import NOW, claims, naive, option
from tidings.errors import CallerError, DiagnosticError
from tidings.recall.fact import build_fact
from tidings.recall.failure import FactsCorruptError, FactsUnavailableError
from tidings.recall.ledger import Entry
from tidings.recall.schema import APPLICATION_ID
from tidings.recall.search import Recalled
from tidings.recall.store import FactStore

HOSTILE = [
    '"', "'; DROP TABLE live; --", "a OR", "NEAR(", "*", "^x", "col:y", "-", "AND OR NOT", "\x00cache\x00",
    "👩\u200d💻🔥", "\ud800", "cache " * 100_000, "x" * 1_000_000, " ".join(f"w{n}" for n in range(50_000)),
    "%s ? :a @b $c", "(((", "{cache}", "\\", "ｃａｃｈｅ", "cache\u0301",
]  # fmt: skip
WORDS = ["build", "cancel", "sigint", "state", "cache", "tool", "größe", "東京"]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[FactStore]:
    with FactStore(tmp_path / "facts.db") as opened:
        yield opened


def test_a_stored_fact_is_recalled_whole(store: FactStore) -> None:
    options = option("SIGINT cancels.", tags=["signals"], provenance={"by": "me"}, valid_until=NOW * 2)
    fact = store.store_fact(options, confidence=0.7)
    (found,) = store.recall_facts("what does sigint do?")
    assert found == Recalled(fact, found.score, 1)
    assert found.score > 0
    assert fact == build_fact({**options, "confidence": 0.7}, now=0)


def test_tags_and_evidence_are_searched_too(store: FactStore) -> None:
    store.store_fact(option("One.", 1, tags=["Deploy"]))
    store.store_fact(option("Two.", 2, evidence=[{"kind": "file_range", "ref": "src/cancel.rs:1"}]))
    assert claims(store, "deploy", max_facts=1) == ["One."]
    assert claims(store, "cancel", max_facts=1) == ["Two."]


def test_the_same_content_twice_is_one_live_fact_with_two_records(store: FactStore) -> None:
    first = store.store_fact(option("Again.", 1, confidence=0.6))
    second = store.store_fact(option("Again.", 2, confidence=0.8))
    older = store.store_fact(option("Again.", 0, confidence=1))
    assert [one.fact for one in store.recall_facts("again")] == [second]
    assert store.history(first.id) == tuple(
        Entry(seq, "project/facts", fact.asserted_at, fact)
        for seq, fact in enumerate((first, second, older), start=1)
    )
    assert store.count() == 1


def test_an_invalidated_fact_is_gone_its_history_is_not_and_it_can_come_back(store: FactStore) -> None:
    fact = store.store_fact(option("Gone."))
    store.store_fact(option("Stays."))
    assert store.invalidate_facts(id=fact.id) == 1
    assert store.invalidate_facts(id=fact.id) == 0
    assert claims(store, "gone") == ["Stays."]
    assert [entry.fact for entry in store.history(fact.id)] == [fact, None]
    store.store_fact(option("Gone.", -5))
    assert claims(store, "gone", max_facts=1) == ["Gone."]
    assert len(store.history(fact.id)) == 3


@pytest.mark.parametrize(
    ("predicates", "left"),
    [
        ({"claim": " A one. "}, ["B one.", "A two.", "B two."]),
        ({"kind": "Decision"}, ["A one.", "A two."]),
        ({"namespace": "user/facts"}, ["A one.", "B one."]),
        ({"tag": "two"}, ["A one.", "B one."]),
        ({"asserted_before": NOW + 3}, ["A two.", "B two."]),
        ({"kind": "decision", "tag": "two"}, ["A one.", "B one.", "A two."]),
        ({"claim": "nothing"}, ["A one.", "B one.", "A two.", "B two."]),
    ],
)
def test_invalidation_takes_what_matches_all_predicates(
    store: FactStore, predicates: dict[str, object], left: list[str]
) -> None:
    store.store_fact(option("A one.", 1))
    store.store_fact(option("B one.", 2, kind="decision"))
    store.store_fact(option("A two.", 3, namespace="user/facts", tags=["two"]))
    store.store_fact(option("B two.", 4, namespace="user/facts", tags=["two"], kind="decision"))
    removed = store.invalidate_facts(**predicates)  # type: ignore[arg-type]
    found = [*claims(store, "one"), *claims(store, "two", namespace="user/facts")]
    assert sorted(found) == sorted(left)
    assert removed == 4 - len(left)


def test_a_fact_that_is_over_never_surfaces(store: FactStore) -> None:
    store.store_fact(option("Until noon.", valid_until=NOW + 100))
    store.store_fact(option("For ever."))
    assert claims(store, "noon", now=NOW + 99) == ["Until noon.", "For ever."]
    assert claims(store, "noon", now=NOW + 100) == ["For ever."]
    assert claims(store, "noon") == ["For ever."]


def test_filters_choose_kind_confidence_and_namespace(store: FactStore) -> None:
    store.store_fact(option("Cache sure.", 1, kind="decision", confidence=0.9))
    store.store_fact(option("Cache half.", 2, kind="decision", confidence=0.5))
    store.store_fact(option("Cache doubt.", 3, kind="decision", confidence=0.49))
    store.store_fact(option("Cache seen.", 4, kind="observation"))
    store.store_fact(option("Cache user.", 5, namespace="user/facts"))
    assert claims(store, "cache") == ["Cache seen.", "Cache half.", "Cache sure."]
    assert claims(store, "cache", kind_filter=["Decision"]) == ["Cache half.", "Cache sure."]
    assert claims(store, "cache", min_confidence=0.6, kind_filter=["decision"]) == ["Cache sure."]
    assert claims(store, "cache", min_confidence=0, kind_filter=("decision",), max_facts=1) == [
        "Cache doubt."
    ]
    assert claims(store, "cache", namespace="user/facts") == ["Cache user."]
    assert claims(store, "cache", namespace="nowhere") == []


def test_what_cannot_be_scored_follows_by_recency(store: FactStore) -> None:
    for at, claim in enumerate(["Oldest other.", "Cancel it.", "Middle other.", "Newest other."]):
        store.store_fact(option(claim, at))
    found = store.recall_facts("cancel")
    assert [one.fact.claim for one in found] == [
        "Cancel it.",
        "Newest other.",
        "Middle other.",
        "Oldest other.",
    ]
    assert [one.score > 0 for one in found] == [True, False, False, False]
    assert [one.rank for one in found] == [1, 2, 3, 4]
    assert claims(store, "")[0] == "Newest other."


def test_ties_go_to_the_newest_assertion_then_to_the_last_stored(store: FactStore) -> None:
    for claim, at in (("Cache one.", 1), ("Cache two.", 3), ("Cache six.", 3), ("Cache ten.", 2)):
        store.store_fact(option(claim, at))
    assert claims(store, "cache") == ["Cache six.", "Cache two.", "Cache ten.", "Cache one."]


def test_max_facts_is_clamped_to_zero_and_twenty_five(store: FactStore) -> None:
    store.store_facts(option(f"Cache number{number}.", number) for number in range(40))
    sizes = [len(store.recall_facts("cache", max_facts=wanted)) for wanted in (-3, 0, 1, 25, 26, 10**9)]
    assert sizes == [0, 0, 1, 25, 25, 25]
    assert len(store.recall_facts("cache")) == 5


@pytest.mark.parametrize(
    ("arguments", "fields"),
    [
        ({"query": None}, ["query"]),
        ({"query": "x", "max_facts": 2.5, "kind_filter": ["rumour"]}, ["max_facts", "kind_filter"]),
        ({"query": "x", "kind_filter": "claim"}, ["kind_filter"]),
        ({"query": "x", "min_confidence": 2, "namespace": ""}, ["namespace", "min_confidence"]),
    ],
)
def test_bad_questions_are_predicate_problems(
    store: FactStore, arguments: dict[str, object], fields: list[str]
) -> None:
    with pytest.raises(DiagnosticError) as caught:
        store.recall_facts(**arguments)  # type: ignore[arg-type]
    problems = caught.value.problems
    assert [(p.code, p.field) for p in problems] == [("HARN-FACT-008", field) for field in fields]


def test_invalidating_without_a_predicate_is_refused(store: FactStore) -> None:
    store.store_fact(option("Kept."))
    with pytest.raises(DiagnosticError, match="HARN-FACT-008: give at least one of id, namespace, claim"):
        store.invalidate_facts()
    with pytest.raises(DiagnosticError, match="HARN-FACT-008: `kind` must be one of observation"):
        store.invalidate_facts(kind="rumour")
    assert store.count() == 1


@pytest.mark.parametrize("query", HOSTILE, ids=range(len(HOSTILE)))
def test_no_query_is_too_hostile(store: FactStore, query: str) -> None:
    store.store_fact(option("The cache is cold."))
    assert claims(store, query) == ["The cache is cold."]


@given(st.text())
@settings(max_examples=200, deadline=None)
def test_any_text_can_be_stored_asked_and_taken_back(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    with FactStore(tmp_path_factory.mktemp("facts") / "facts.db") as store:
        stored = [store.store_fact(option("x" + text))] if len(text) < 9_000 else []
        assert [one.fact for one in store.recall_facts(text)] == stored
        assert store.invalidate_facts(claim="x" + text) == len(stored)
        assert store.recall_facts(text) == ()
        assert _words(store) == []


def _words(store: FactStore) -> list[tuple[object, ...]]:
    """What is left in the derived tables, which follow the live facts."""
    with sqlite3.connect(store.path) as connection:
        left = connection.execute("SELECT term FROM terms").fetchall()
        connection.execute("INSERT INTO words_1 (words_1) VALUES ('integrity-check')")
        assert connection.execute("SELECT documents, words FROM namespaces").fetchall() == [(0, 0)]
    connection.close()
    return left


@given(
    st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=12), min_size=1, max_size=25),
    st.lists(st.sampled_from([*WORDS, "absent"]), max_size=8),
    st.sets(st.integers(0, 24)),
)
@settings(max_examples=150, deadline=None)
def test_recall_ranks_like_the_plainest_bm25(
    tmp_path_factory: pytest.TempPathFactory, corpus: list[list[str]], query: list[str], removed: set[int]
) -> None:
    with FactStore(tmp_path_factory.mktemp("facts") / "facts.db") as store:
        facts = {
            fact.id: fact
            for number, words in enumerate(corpus)
            for fact in [store.store_fact(option(" ".join(words), number))]
        }
        for name in [name for number, name in enumerate(facts) if number in removed]:
            store.invalidate_facts(id=name)
            del facts[name]
        found = store.recall_facts(" ".join(query), max_facts=25)
        scores = naive(list(facts.values()), " ".join(query)) if facts else {}
    expected = sorted(facts.values(), key=lambda f: (round(scores[f.id], 9), f.asserted_at), reverse=True)
    assert [one.score for one in found] == pytest.approx([scores[fact.id] for fact in expected])
    assert [one.fact for one in found] == expected


def test_pruning_a_large_namespace_keeps_the_answers_sensible(store: FactStore) -> None:
    common = [option(f"The service number{n} writes the log of the day.", n) for n in range(1_200)]
    store.store_facts(
        [*common, option("The service cancels on SIGINT.", -2), option("The sky is blue.", -1)]
    )
    assert (
        claims(store, "what does the service do on sigint", max_facts=2)[0]
        == "The service cancels on SIGINT."
    )
    assert claims(store, "the blue sky of the day", max_facts=1) == ["The sky is blue."]
    assert claims(store, "the service number700", max_facts=1) == [common[700]["claim"]]
    shorter = store.recall_facts("the of", max_facts=3)
    assert [one.score > 0 for one in shorter] == [True, True, True]


def test_everything_is_there_after_reopening(tmp_path: Path) -> None:
    path = tmp_path / "facts.db"
    with FactStore(path) as store:
        kept = store.store_fact(option("Kept."))
        gone = store.store_fact(option("Gone."))
        store.invalidate_facts(id=gone.id)
    with FactStore(path) as store:
        assert [one.fact for one in store.recall_facts("kept gone")] == [kept]
        assert [entry.fact for entry in store.history(gone.id)] == [gone, None]


def test_a_batch_with_one_wrong_fact_stores_nothing(store: FactStore) -> None:
    with pytest.raises(DiagnosticError, match="HARN-FACT-004"):
        store.store_facts([option("Right."), option("Wrong.", confidence=3)])
    assert store.count() == 0


def test_many_threads_share_a_store(store: FactStore) -> None:
    def work(number: int) -> int:
        store.store_fact(option(f"Cache number{number}.", number))
        return len(store.recall_facts(f"number{number}", max_facts=1))

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(80), timeout=60)) == [1] * 80
    assert store.count() == 80


def test_a_file_of_something_else_is_refused_untouched(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE notes (text)")
    other.close()
    before = path.read_bytes()
    with pytest.raises(CallerError, match="another application; give the facts a file of their own"):
        FactStore(path)
    assert path.read_bytes() == before


def test_a_newer_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "facts.db"
    with sqlite3.connect(path) as newer:
        newer.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        newer.execute("PRAGMA user_version = 99")
    newer.close()
    with pytest.raises(FactsUnavailableError, match="schema 99, this Tidings reads up to 1; upgrade"):
        FactStore(path)


def test_what_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "facts.db"
    path.write_bytes(b"not a database, not at all" * 100)
    with pytest.raises(FactsCorruptError, match="is damaged"):
        FactStore(path)
    with pytest.raises(FactsUnavailableError, match="check that its directory exists"):
        FactStore(tmp_path / "none" / "facts.db")


def test_a_closed_store_says_so(store: FactStore) -> None:
    store.close()
    store.close()
    with pytest.raises(FactsUnavailableError, match="is closed; open it again"):
        store.recall_facts("x")


def test_a_locked_file_is_unavailable_after_the_deadline(tmp_path: Path) -> None:
    path = tmp_path / "facts.db"
    with FactStore(path, busy_seconds=0.05) as store:
        holder = sqlite3.connect(path, isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(FactsUnavailableError, match="another process holds the write lock"):
            store.store_fact(option("Late."))
        assert store.recall_facts("late") == ()
        holder.execute("ROLLBACK")
        holder.close()
        store.store_fact(option("Late."))
        assert store.count() == 1


def test_a_store_used_after_a_fork_is_refused(store: FactStore) -> None:
    reading, writing = os.pipe()
    forked = os.fork()
    if forked == 0:
        try:
            store.count()
        except CallerError as error:
            os.write(writing, str(error).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as said:
        assert "opened before a fork; open it in each process" in said.read()
    os.waitpid(forked, 0)


def test_an_unknown_index_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CallerError, match="index is 'lucene'; give 'auto' or 'fts5'"):
        FactStore(tmp_path / "facts.db", index="lucene")  # type: ignore[arg-type]
