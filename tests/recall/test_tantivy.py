"""The derived index: the same answers as FTS5, at once and again after losing it."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.recall.corpus import claims, option
from tidings.recall import accelerator
from tidings.recall.store import FactStore
from tidings.recall.tantivy_index import IndexBusyError, TantivyIndex, available

pytestmark = pytest.mark.skipif(
    not available(), reason="tantivy is not installed: the tidings[recall] extra is NOT tested in this run"
)

SIZE = 1_500
VOCABULARY = [f"word{number}" for number in range(300)]
KINDS = ("decision", "claim", "constraint")


def drawn(chance: random.Random, count: int) -> str:
    return " ".join(VOCABULARY[int(chance.paretovariate(0.7)) % 300] for _ in range(count))


def corpus(seed: int, size: int) -> Iterator[dict[str, object]]:
    chance = random.Random(seed)
    for number in range(size):
        yield option(
            f"{drawn(chance, chance.randint(3, 60))} id{seed}x{number}",
            chance.randint(0, 50),
            kind=chance.choice(KINDS),
            confidence=chance.choice((0.3, 0.5, 0.9)),
            valid_until=chance.choice((None, None, 5)),
        )


def ready(path: Path) -> FactStore:
    """A store whose index is built."""
    store = FactStore(path, index_above=100)
    store.store_facts(corpus(1, SIZE))
    store.recall_facts("word1")
    assert store.settle()
    return store


def answers(store: FactStore) -> int:
    assert store._accelerator is not None
    return store._accelerator.answers


def test_both_engines_answer_alike(tmp_path: Path) -> None:
    chance = random.Random(5)
    with ready(tmp_path / "facts.db") as fast, FactStore(tmp_path / "facts.db", index="fts5") as plain:
        for at in range(300):
            query = drawn(chance, 1 + at % 8)
            more = {
                "max_facts": chance.choice((1, 5, 25)),
                "min_confidence": chance.choice((0, 0.5, 0.8)),
                "kind_filter": chance.choice(((), ("decision",), ("claim", "constraint"))),
            }
            assert fast.recall_facts(query, **more) == plain.recall_facts(query, **more), (query, more)
        assert answers(fast) > 200


def test_a_fact_is_found_as_soon_as_it_is_stored_and_gone_as_soon_as_it_is_taken_back(
    tmp_path: Path,
) -> None:
    with ready(tmp_path / "facts.db") as store, FactStore(tmp_path / "facts.db", index="fts5") as other:
        before = answers(store)
        fact = store.store_fact(option("zebra crossing"))
        other.store_fact(option("yak crossing"))
        assert claims(store, "zebra", max_facts=1) == ["zebra crossing"]
        assert claims(store, "yak", max_facts=1) == ["yak crossing"]
        again = store.store_fact(option("zebra crossing", 60, confidence=0.8))
        assert [one.fact for one in store.recall_facts("zebra", max_facts=1)] == [again]
        store.invalidate_facts(id=fact.id)
        assert store.recall_facts("zebra", max_facts=1)[0].score == 0
        assert claims(store, "id1x77", min_confidence=0, now=1, max_facts=1)[0].endswith("id1x77")
        assert answers(store) > before


def test_a_grown_delta_moves_into_the_index(tmp_path: Path) -> None:
    with ready(tmp_path / "facts.db") as store:
        store.recall_facts("word1")
        store.store_facts(corpus(2, accelerator.ABSORB + 1))
        assert claims(store, "id2x3", min_confidence=0, now=1, max_facts=1)[0].endswith("id2x3")
        assert store.settle()
        before = answers(store)
        assert claims(store, "id2x9", min_confidence=0, now=1, max_facts=1)[0].endswith("id2x9")
        assert answers(store) == before + 1
        shelf = store._accelerator._shelves[1]  # type: ignore[union-attr]
        assert (shelf.delta, shelf.index.documents) == ({}, SIZE + accelerator.ABSORB + 1)


def test_a_lost_damaged_or_foreign_index_is_made_anew(tmp_path: Path) -> None:
    path, home = tmp_path / "facts.db", tmp_path / "facts.db.index"
    ready(path).close()
    (directory,) = home.iterdir()
    for harm in ("lose", "damage", "foreign"):
        if harm == "lose":
            shutil.rmtree(home)
        elif harm == "damage":
            (directory / "meta.json").write_text("{")
        else:
            TantivyIndex(directory).add([(10**9, "word1 of another history")], anew=True)
        with FactStore(path, index_above=100) as store:
            for _ in range(2):
                found = claims(store, "id1x5", min_confidence=0, now=1, max_facts=1)
                assert found[0].endswith("id1x5"), harm
                assert store.settle()
            assert answers(store) > 0, harm


def test_an_index_of_mostly_dead_records_is_made_anew(tmp_path: Path) -> None:
    with ready(tmp_path / "facts.db") as store:
        store.invalidate_facts(kind="claim")
        store.invalidate_facts(kind="constraint")
        store.recall_facts("word1")
        assert store.settle()
        store.recall_facts("word1")
        shelf = store._accelerator._shelves[1]  # type: ignore[union-attr]
        assert shelf.index.documents == store.count() < SIZE / 2


def test_a_small_namespace_is_left_to_fts5(tmp_path: Path) -> None:
    with FactStore(tmp_path / "facts.db") as store:
        store.store_facts(corpus(1, 200))
        store.recall_facts("word1")
        assert answers(store) == 0
    assert not (tmp_path / "facts.db.index").exists()


def test_an_index_that_another_process_writes_is_busy(tmp_path: Path) -> None:
    one, two = TantivyIndex(tmp_path / "index"), TantivyIndex(tmp_path / "index")
    with one._writer(), pytest.raises(IndexBusyError):
        two.add([(1, "word")], anew=False)
    two.add([(1, "word"), (2, "word other")], anew=False)
    one.refresh()
    assert (one.documents, one.watermark, [seq for _, seq in one.search(["other"], 5)]) == (2, 2, [2])


def test_a_stopped_build_writes_nothing(tmp_path: Path) -> None:
    index = TantivyIndex(tmp_path / "index")
    index.add([(1, "word")], anew=False, stopped=lambda: True)
    index.refresh()
    assert index.documents == 0


def test_a_failing_index_leaves_the_answer_to_fts5_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "facts.db"
    with FactStore(path, index_above=100) as store:
        store.store_facts(corpus(1, SIZE))
        (tmp_path / "facts.db.index").write_text("in the way")
        with pytest.warns(RuntimeWarning, match="FTS5 answers instead: .*facts.db.index"):
            found = claims(store, "id1x5", min_confidence=0, now=1, max_facts=1)
        assert found[0].endswith("id1x5")
        assert claims(store, "id1x6", min_confidence=0, now=1, max_facts=1)[0].endswith("id1x6")


def test_ties_deeper_than_the_first_candidates_go_to_the_newest(tmp_path: Path) -> None:
    with FactStore(tmp_path / "facts.db", index_above=100) as store:
        store.store_facts(corpus(1, SIZE))
        store.store_facts(option(f"tied number{number}", number) for number in range(400))
        store.recall_facts("tied")
        assert store.settle()
        before = answers(store)
        assert claims(store, "tied", max_facts=3) == ["tied number399", "tied number398", "tied number397"]
        assert answers(store) == before + 1
