"""Damaged, foreign and killed: what the file survives, what is said, and the way out."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from threading import Timer

import pytest

from tests.memory.opening import DEADLINE, open_store
from tidings.errors import CallerError
from tidings.memory.failure import MemoryCorruptError, MemoryInputError, MemoryUnavailableError
from tidings.memory.health import Repaired, check, repair
from tidings.memory.schema import VERSION
from tidings.memory.store import MemoryStore
from tidings.memory.transfer import export_lines

CHILD = Path(__file__).with_name("child.py")


def filled(path: Path, count: int = 200) -> list[str]:
    """A file with notes; gives its export."""
    with open_store(path) as store:
        for number in range(count):
            store.remember(text=f"Note number{number} is about subject{number % 7} and things.")
        return export_lines(store)


def test_a_file_that_is_no_database_is_named_with_the_way_out(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    path.write_bytes(b"this is no database at all, only a text that is long enough" * 20)
    with pytest.raises(MemoryCorruptError, match=r"is damaged .* tidings memory check --repair --file"):
        MemoryStore(path, embedder=None)
    with pytest.raises(MemoryCorruptError, match="nothing in it is readable; an export is needed"):
        repair(path)
    assert path.read_bytes().startswith(b"this is no database")


def test_a_database_of_something_else_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE mine (x)")
    before = path.read_bytes()
    with pytest.raises(CallerError, match="database of another application"):
        MemoryStore(path, embedder=None)
    assert path.read_bytes() == before


def test_a_file_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    filled(path, 1)
    with closing(sqlite3.connect(path)) as other:
        other.execute(f"PRAGMA user_version = {VERSION + 1}")
    with pytest.raises(MemoryUnavailableError, match="upgrade Tidings"):
        MemoryStore(path, embedder=None)


def test_an_unusable_place_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(MemoryUnavailableError, match=r"cannot be opened: .*; give a file in a folder"):
        MemoryStore(tmp_path / "file" / "memory.db", embedder=None)


def test_the_file_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "new" / "memory.db"
    filled(path, 1)
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_a_sound_file_has_no_problems(tmp_path: Path) -> None:
    filled(tmp_path / "memory.db", 30)
    assert check(tmp_path / "memory.db") == []


def test_a_page_of_garbage_is_noticed_and_the_readable_rest_is_saved(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    lines = filled(path)
    damage(path, b"subject3")
    try:
        problems = check(path)
    except MemoryCorruptError as error:
        problems = [str(error)]
    assert problems != []
    done = repair(path, lines, embedder=None)
    assert (done.readable + done.from_export, done.from_export > 0, done.damaged.exists()) == (
        200,
        True,
        True,
    )
    assert check(path) == []
    with open_store(path) as store:
        assert sorted(export_lines(store)) == sorted(lines)


def damage(path: Path, mark: bytes) -> None:
    """Overwrite the page in the middle of those that hold `mark`."""
    data = bytearray(path.read_bytes())
    pages = [at for at in range(0, len(data), 4096) if mark in data[at : at + 4096] and at]
    at = pages[len(pages) // 2]
    data[at : at + 4096] = b"\x5a" * 4096
    path.write_bytes(data)


def test_a_repair_with_a_bad_export_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    path.write_bytes(b"no database" * 500)
    with pytest.raises(MemoryInputError, match="line 1"):
        repair(path, ["{"])
    assert [one.name for one in tmp_path.iterdir()] == ["memory.db"]


def test_a_file_beyond_reading_is_made_anew_from_an_export(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    lines = filled(tmp_path / "whole.db", 5)
    path.write_bytes(b"no database" * 500)
    assert repair(path, lines, embedder=None) == Repaired(
        readable=0, from_export=5, damaged=tmp_path / "memory.db.damaged-1"
    )
    with open_store(path) as store:
        assert export_lines(store) == lines


def test_an_index_that_lost_a_memory_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    filled(path, 5)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("INSERT INTO found (found) VALUES ('delete-all')")
    assert any("full-text index" in problem for problem in check(path))


def test_a_killed_writer_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    command = [sys.executable, str(CHILD), str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        deadline = Timer(DEADLINE, writer.kill)
        deadline.start()
        assert writer.stdout is not None
        acknowledged = [writer.stdout.readline().strip() for _ in range(40)]
        writer.kill()
        rest, _ = writer.communicate(timeout=DEADLINE)
        deadline.cancel()
    complete = rest[: rest.rfind("\n") + 1].split()
    assert check(path) == []
    with open_store(path) as store:
        assert all(store.get(name) is not None for name in (*acknowledged, *complete))
        assert store.recall("number39").items[0].content == "The child remembers number39."
        assert store.remember(text="Afterwards all is well.").new
