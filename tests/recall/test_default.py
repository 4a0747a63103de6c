"""The functions without a store in hand: which file they act on."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.recall.corpus import option
from tidings.errors import CallerError, DiagnosticError
from tidings.recall.default import default_path, facts_store, invalidate_facts, recall_facts, store_fact


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TIDINGS_FACTS", raising=False)
    monkeypatch.chdir(tmp_path)


def claims(**more: object) -> list[str]:
    return [one.fact.claim for one in recall_facts("fact", **more)]  # type: ignore[arg-type]


def test_facts_live_under_the_current_directory_or_the_given_root(tmp_path: Path) -> None:
    store_fact(option("Here."))
    store_fact(option("There."), root=tmp_path / "there")
    assert (claims(), claims(root=tmp_path / "there")) == (["Here."], ["There."])
    assert (tmp_path / ".tidings" / "facts.db").exists()
    assert (tmp_path / "there" / ".tidings" / "facts.db").exists()


def test_the_environment_overrides_root_and_the_block_overrides_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_fact(option("Here."))
    monkeypatch.setenv("TIDINGS_FACTS", str(tmp_path / "named.db"))
    assert default_path("elsewhere") == tmp_path / "named.db"
    store_fact(option("Named."), root=tmp_path / "ignored")
    with facts_store(tmp_path / "block" / "facts.db") as store:
        store_fact(option("Block."))
        assert (claims(), store.count()) == (["Block."], 1)
    assert claims() == ["Named."]
    monkeypatch.delenv("TIDINGS_FACTS")
    assert claims() == ["Here."]


def test_recalling_where_nothing_is_stored_creates_no_file(tmp_path: Path) -> None:
    assert (recall_facts("x"), invalidate_facts(kind="claim")) == ((), 0)
    assert list(tmp_path.iterdir()) == []


def test_arguments_are_checked_even_where_nothing_is_stored() -> None:
    with pytest.raises(DiagnosticError, match="HARN-FACT-008"):
        recall_facts("x", kind_filter=["rumour"])
    with pytest.raises(DiagnosticError, match="HARN-FACT-008"):
        invalidate_facts()


def test_a_fact_is_taken_back() -> None:
    fact = store_fact(kind="Decision", claim="Taken back.", confidence=1)
    assert invalidate_facts(id=fact.id) == 1
    assert claims() == []


def test_a_directory_that_was_removed_is_made_again(tmp_path: Path) -> None:
    store_fact(option("Lost."))
    shutil.rmtree(tmp_path / ".tidings")
    assert claims() == []
    store_fact(option("Anew."))
    assert claims() == ["Anew."]
    assert (tmp_path / ".tidings" / "facts.db").exists()


def test_a_root_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CallerError, match="is no directory; give the facts another path"):
        store_fact(option("Nowhere."), root=tmp_path / "file")


def test_threads_share_the_default_store() -> None:
    with ThreadPoolExecutor(8) as pool:
        list(
            pool.map(
                lambda number: store_fact(option(f"Fact number{number}.", number)), range(30), timeout=60
            )
        )
    assert claims(max_facts=25) == [f"Fact number{number}." for number in range(29, 4, -1)]
