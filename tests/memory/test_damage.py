"""Every way in which a file can be damaged, closed or open: what is said, and what is saved."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.memory.opening import DEADLINE, open_store
from tidings.memory.failure import MemoryCorruptError, MemoryStoreError, MemoryUnavailableError
from tidings.memory.health import check, repair
from tidings.memory.rescue import rescued
from tidings.memory.schema import connect
from tidings.memory.store import MemoryStore
from tidings.memory.transfer import export_lines

COUNT = 200
LONG = "The crane log says: " + "all is well with the ropes and hooks of it. " * 150


def filled(path: Path) -> list[str]:
    """A file with notes of several projects, one of them long; gives its export."""
    with open_store(path) as store:
        for number in range(COUNT - 1):
            text = f"Note number{number} is about subject{number % 7} and things."
            store.remember(
                text=text, project=("", "harbor", "lark")[number % 3], tags=["a"], key=f"k{number}"
            )
        store.remember(text=LONG, project="harbor", pinned=True, valid_to="2099-01-01")
        return export_lines(store)


def altered(path: Path, change: Callable[[bytearray], None]) -> None:
    data = bytearray(path.read_bytes())
    change(data)
    path.write_bytes(data)


def head(path: Path) -> None:
    altered(path, lambda data: data.__setitem__(slice(0, 16), b"x" * 16))


def schema(path: Path) -> None:
    altered(path, lambda data: data.__setitem__(slice(100, 4096), b"\xff" * 3996))


def inner_pages(path: Path) -> None:
    altered(path, lambda data: data.__setitem__(slice(3 * 4096, 20 * 4096), bytes(17 * 4096)))


def the_end(path: Path) -> None:
    os.truncate(path, path.stat().st_size * 3 // 4 // 4096 * 4096)


def half_a_page(path: Path) -> None:
    os.truncate(path, path.stat().st_size * 3 // 4 // 4096 * 4096 + 123)


def flipped_bits(path: Path) -> None:
    chance = random.Random(1)

    def flip(data: bytearray) -> None:
        for _ in range(400):
            data[chance.randrange(100, len(data))] = chance.randrange(256)

    altered(path, flip)


WHOLE = (head, schema)
"""What costs nothing of the content."""
PARTLY = (inner_pages, the_end, half_a_page, flipped_bits)
KINDS = (*WHOLE, *PARTLY)


def used(store: MemoryStore) -> list[str]:
    """What becomes of every use of a store: what it raises, or nothing."""
    uses: list[Callable[[], object]] = [
        lambda: store.answer("What is subject3 about?"),
        lambda: store.remember(text="A new thing about number5 comes."),
        lambda: store.list(limit=1_000),
        lambda: store.forget(containing="number7 "),
        lambda: store.answer("What is subject4 about?"),
    ]
    return [_outcome(use) for use in uses]


def _outcome(use: Callable[[], object]) -> str:
    try:
        use()
    except MemoryStoreError as error:
        return type(error).__name__
    return ""


@pytest.mark.parametrize("damage", KINDS)
def test_a_damaged_file_is_said_to_be_damaged_and_never_anything_else(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    path = tmp_path / "memory.db"
    filled(path)
    damage(path)
    try:
        with open_store(path) as store:
            outcomes = used(store)
    except MemoryCorruptError as error:
        outcomes = [type(error).__name__]
    assert set(outcomes) <= {"", "MemoryCorruptError"}
    assert "MemoryCorruptError" in outcomes


def open_here(path: Path) -> list[str]:
    """The files of this process that are `path`, or belong to it."""
    links = [Path(entry.path) for entry in os.scandir("/proc/self/fd")]
    found = [str(link.readlink()) for link in links if link.is_symlink()]
    return [name for name in found if name.startswith(str(path))]


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="there is no list of open files here")
def test_a_file_that_cannot_be_used_is_not_kept_open(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    path.write_bytes(b"no database " * 1_000)
    with pytest.raises(MemoryCorruptError) as kept:
        connect(path, 1.0)
    assert (open_here(path), str(path) in str(kept.value)) == ([], True)


@pytest.mark.parametrize("damage", KINDS)
def test_damage_while_the_file_is_open_costs_answers_and_nothing_else(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    path = tmp_path / "memory.db"
    filled(path)
    with open_store(path) as store:
        store.answer("What is subject3 about?")
        damage(path)
        assert set(used(store)) <= {"", "MemoryCorruptError"}


@pytest.mark.parametrize("damage", WHOLE)
def test_everything_is_saved_from_a_file_whose_head_is_gone(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    path = tmp_path / "memory.db"
    lines = filled(path)
    damage(path)
    assert repair(path, embedder=None).readable == COUNT
    assert check(path) == []
    with open_store(path) as store:
        assert sorted(export_lines(store)) == sorted(lines)


@pytest.mark.parametrize("damage", PARTLY)
def test_what_is_saved_from_a_damaged_file_is_exactly_what_was_written(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    path = tmp_path / "memory.db"
    with open_store(path) as store:
        for number in range(COUNT):
            store.remember(text=f"Note number{number} is about subject{number % 7} and things.")
        told = {memory.text for memory in store.list(limit=COUNT)}
    damage(path)
    saved = repair(path, embedder=None).readable
    assert COUNT // 8 < saved <= COUNT
    assert check(path) == []
    with open_store(path) as store:
        assert {memory.text for memory in store.list(limit=COUNT)} <= told


def test_a_project_whose_name_is_lost_does_not_spill_into_others(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    filled(path)
    data = path.read_bytes().replace(b"harbor", b"h\xffrbor")
    assert {memory.project for memory in rescued(data)} == {"", "lark", "lost project 2"}


def test_what_was_forgotten_is_not_saved_from_the_raw_bytes(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    filled(path)
    with open_store(path) as store:
        assert store.forget(containing="subject3").verified
    head(path)
    assert [memory for memory in rescued(path.read_bytes()) if "subject3" in memory.text] == []


@pytest.mark.parametrize("data", [b"", b"x", b"\x0d" * 5_000, b"SQLite format 3\0" + b"\xff" * 9_000])
def test_bytes_that_hold_nothing_give_nothing(data: bytes) -> None:
    assert rescued(data) == []


def test_a_memory_that_is_not_what_was_written_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    filled(path)
    with open_store(path) as store, store.file.writing() as connection:
        connection.execute("UPDATE memories SET text = 'Something else.' WHERE seq = 3")
    assert check(path) == ["1 memories are not what was written"]


@pytest.mark.parametrize("how", ["deleted", "replaced"])
def test_a_file_that_is_taken_away_is_not_written_to_in_vain(tmp_path: Path, how: str) -> None:
    path, other = tmp_path / "memory.db", tmp_path / "other.db"
    for each in (path, other):
        filled(each)
    with open_store(path) as store:
        path.unlink() if how == "deleted" else other.replace(path)
        with pytest.raises(
            MemoryUnavailableError, match="was deleted, moved or replaced while it was open"
        ):
            store.remember(text="This would be lost.")
        with pytest.raises(MemoryUnavailableError, match="open it again"):
            store.answer("What is subject3 about?")


FULL = """
import resource, sys
from tidings.memory.failure import MemoryUnavailableError
from tidings.memory.store import MemoryStore

with MemoryStore(sys.argv[1], embedder=None) as store:
    for number in range(50):
        store.remember(text=f"Note number{number} is about subject{number % 7} and things.")
    resource.setrlimit(resource.RLIMIT_FSIZE, (1, 1))
    for use in (
        lambda: store.remember(text="One thing too many."),
        lambda: store.forget(containing="number7 "),
    ):
        try:
            use()
        except MemoryUnavailableError as error:
            print("refused" if "full" in str(error) else error)
    print(store.count(), len(store.answer("What is number3 about?").items))
"""


def test_a_full_disk_refuses_what_is_new_and_still_answers(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    command = [sys.executable, "-c", FULL, str(path)]
    done = subprocess.run(command, timeout=DEADLINE, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["refused", "refused", "50 1"], done.stderr
    assert check(path) == []
    with open_store(path) as store:
        assert store.remember(text="One thing too many.").new
