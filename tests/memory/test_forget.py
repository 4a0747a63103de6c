"""Forgetting is for good: not found, not listed, and not in the bytes of any file of the memory."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.memory.opening import NOW, VARIANTS, open_store, texts
from tidings.memory.failure import MemoryInputError
from tidings.memory.health import check
from tidings.memory.purge import Forgotten, residue
from tidings.memory.store import MemoryStore

SECRET = "Zanzibar project codename Quetzalcoatl launches in Reykjavik"
MARKS = ("Zanzibar", "zanzibar", "Quetzalcoatl", "quetzalcoatl", "Reykjavik", "reykjavik")


def raw(path: Path) -> bytes:
    """Every byte of the database, its write-ahead log and its shared memory."""
    sides = [Path(f"{path}{side}") for side in ("", "-wal", "-shm")]
    return b"".join(side.read_bytes() for side in sides if side.exists())


def left(path: Path) -> list[str]:
    return [mark for mark in MARKS if mark.encode() in raw(path)]


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_forgotten_memory_is_in_no_byte_of_the_files(tmp_path: Path, variant: str) -> None:
    path = tmp_path / "memory.db"
    with open_store(path, variant) as store:
        for number in range(60):
            store.remember(text=f"Ordinary note number {number} about the weather.")
        secret = store.remember(text=f"{SECRET}. " * 40, key="Quetzalcoatl plan", tags=["Zanzibar"])
        store.remember(text="Another note that came later.")
        assert left(path) != []
        done = store.forget(id=secret.memory.id)
        assert done == Forgotten(ids=(secret.memory.id,))
        assert left(path) == []
        assert store.recall("Zanzibar Quetzalcoatl Reykjavik").items == ()
        assert store.count() == 61
    assert left(path) == []
    assert check(path) == []


def test_what_a_turn_lent_to_its_neighbours_is_forgotten_with_it(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with open_store(path, "similarity") as store:
        turn = {"kind": "turn", "conversation": "c"}
        for number, text in enumerate(("We begin here.", f"{SECRET}.", "We go on there.")):
            store.remember(turn, text=text, created=NOW + number)
        before = {one.row.memory.text for one in store.evidence("Quetzalcoatl in Reykjavik")}
        store.forget(containing="zanzibar")
        after = store.evidence("Quetzalcoatl in Reykjavik")
        assert {"We begin here.", "We go on there."} <= before
        assert all(one.coverage == 0 for one in after)
        assert left(path) == []
        with open_store(tmp_path / "never.db", "similarity") as never:
            never.remember(turn, text="We begin here.", created=NOW)
            never.remember(turn, text="We go on there.", created=NOW + 2)
            assert _vectors(path) == _vectors(tmp_path / "never.db")


def _vectors(path: Path) -> list[bytes]:
    with closing(sqlite3.connect(path)) as connection:
        return [vector for (vector,) in connection.execute("SELECT vector FROM vectors ORDER BY seq")]


def test_the_name_of_a_forgotten_project_is_forgotten_too(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with open_store(path) as store:
        store.remember(text="Something harmless.", project="Quetzalcoatl")
        assert len(store.forget(project="Quetzalcoatl").ids) == 1
        assert left(path) == []


def test_forgetting_the_newer_says_which_older_memories_hold_again(tmp_path: Path) -> None:
    with open_store(tmp_path / "memory.db") as store:
        old = store.remember(text="The API host is old.", key="host", created=NOW - 2).memory
        new = store.remember(text="The API host is new.", key="host", created=NOW - 1).memory
        assert store.forget(id=new.id) == Forgotten(ids=(new.id,), standing=(old.id,))
        assert texts(store, "What is the API host?") == ["The API host is old."]
        assert store.forget(key="host").ids == (old.id,)
        assert store.list(outdated=True) == ()


def test_all_that_is_given_must_match(tmp_path: Path) -> None:
    with open_store(tmp_path / "memory.db") as store:
        for project in ("a", "b"):
            for age in (1, 100):
                store.remember(text=f"Note {age} of {project}.", project=project, created=NOW - age)
        store.forget(project="a", before=NOW - 50)
        kept = sorted(memory.text for memory in store.list())
        assert kept == ["Note 1 of a.", "Note 1 of b.", "Note 100 of b."]


@pytest.mark.parametrize(
    ("selection", "said"),
    [
        ({}, "give at least one of id, key, containing"),
        ({"id": []}, "`id` must be an id, or a list of 1 to 100 ids"),
        ({"before": "long ago"}, "`before` must be ISO 8601"),
        ({"contains": "x"}, "unknown key `contains`; did you mean `containing`?"),
    ],
)
def test_a_wrong_selection_forgets_nothing(tmp_path: Path, selection: dict[str, object], said: str) -> None:
    with open_store(tmp_path / "memory.db") as store:
        store.remember(text="A note.")
        with pytest.raises(MemoryInputError) as refused:
            store.forget(selection)
        assert said in str(refused.value)
        assert store.count() == 1


def test_a_reader_in_another_program_is_told_of_and_the_next_opening_clears_the_bytes(
    tmp_path: Path,
) -> None:
    path = tmp_path / "memory.db"
    with open_store(path) as store:
        store.remember(text=SECRET)
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN")
            other.execute("SELECT count(*) FROM memories").fetchone()
            done = store.forget(containing="Zanzibar")
        assert (len(done.ids), done.verified) == (1, False)
        assert "the next one that opens it clears the bytes" in done.reason
        assert store.recall("Zanzibar").items == ()
        assert left(path) != []
    with open_store(path):
        assert left(path) == []


def test_residue_is_found_where_there_is_some(tmp_path: Path) -> None:
    with open_store(tmp_path / "memory.db") as store:
        store.remember(text=f"{SECRET}.")
        assert not residue(store.file, [f"{SECRET}."])
        with store.file.writing() as connection:
            connection.execute("DELETE FROM memories")
        assert residue(store.file, [f"{SECRET}."])


WORD = st.text("bcdfghjklmnpqrstvwxz", min_size=9, max_size=14)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    words=st.lists(WORD, min_size=4, max_size=9, unique=True),
    gone=st.sets(st.integers(0, 8)),
)
def test_whatever_is_forgotten_is_gone_and_the_rest_stays(
    tmp_path: Path, words: list[str], gone: set[int]
) -> None:
    path = tmp_path / "any.db"
    for side in ("", "-wal", "-shm"):
        Path(f"{path}{side}").unlink(missing_ok=True)
    with open_store(path) as store:
        ids = [store.remember(text=f"About {word} there is a note.").memory.id for word in words]
        chosen = [number for number in sorted(gone) if number < len(words)]
        if chosen:
            assert store.forget(id=[ids[number] for number in chosen]).verified
        bytes_left = raw(path)
        for number, word in enumerate(words):
            assert bool(store.recall(word).items) == (number not in chosen)
            assert (word.encode() in bytes_left) == (number not in chosen)


def test_a_kill_between_forgetting_and_clearing_is_made_good_at_the_next_opening(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with open_store(path) as store:
        store.remember(text=SECRET)
        with store.file.writing() as connection:
            (seq,) = connection.execute("SELECT seq FROM memories").fetchone()
            store.pen().remove(connection, [seq])
    with MemoryStore(path, embedder=None):
        assert left(path) == []
