"""Addresses, the clock, and what importing the package costs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.bench_log import run
from tidings.errors import LogUsageError
from tidings.log import LogRecord, open_log
from tidings.log.memory import MemoryLog
from tidings.log.sqlite import SqliteLog


def test_an_address_with_three_slashes_is_relative_and_with_four_absolute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with open_log("sqlite:///one.db"), open_log(f"sqlite:///{tmp_path}/two.db"):
        assert {path.name for path in tmp_path.glob("*.db")} == {"one.db", "two.db"}
    with open_log(tmp_path / "three.db") as log:
        assert isinstance(log, SqliteLog)
        assert log.path == tmp_path / "three.db"


def test_memory_is_an_address() -> None:
    with open_log("memory:") as log:
        assert isinstance(log, MemoryLog)


@pytest.mark.parametrize(
    "address", ["", "log.db", "postgres://x", "sqlite:", "sqlite:///", "sqlite:///:memory:", None]
)
def test_an_unknown_address_is_refused_with_the_accepted_forms(address: str) -> None:
    with pytest.raises(LogUsageError) as raised:
        open_log(address)
    assert str(raised.value) == (
        f"log address is {address!r}; give 'sqlite:///relative.db', 'sqlite:////absolute.db', "
        "a pathlib.Path, or 'memory:'"
    )


def test_an_unknown_or_impossible_durability_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LogUsageError, match="durability is 'full'; give 'normal' or 'fsync'"):
        open_log(tmp_path / "log.db", durability="full")  # type: ignore[arg-type]
    with pytest.raises(LogUsageError, match="'memory:' keeps nothing on disk"):
        open_log("memory:", durability="fsync")


@pytest.mark.parametrize("address", ["memory:", "sqlite:///log.db"])
def test_records_are_stamped_by_the_given_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with open_log(address, clock=iter([7, 5]).__next__) as log:
        log.append("t", "k", {})
        log.append("t", "k", {})
        assert list(log.read("t")) == [LogRecord(1, "t", "k", {}, 7), LogRecord(2, "t", "k", {}, 5)]


def test_importing_the_package_loads_neither_sqlite_nor_asyncio_nor_sockets() -> None:
    code = "import sys, tidings.log; print({'sqlite3', 'asyncio', 'socket'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_the_benchmark_runs() -> None:
    names = [measurement.name for measurement in run(quick=True)]
    assert len(names) == len(set(names)) == 9
