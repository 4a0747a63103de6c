"""Every log of ours, held to the contract that users can run on theirs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tidings.log import EventLog, open_log
from tidings.testing.log_contract import LogContract


class TestMemoryLog(LogContract):
    @pytest.fixture
    def log(self) -> Iterator[EventLog]:
        with open_log("memory:") as log:
            yield log


class TestSqliteLog(LogContract):
    @pytest.fixture
    def log(self, tmp_path: Path) -> Iterator[EventLog]:
        with open_log(tmp_path / "log.db") as log:
            yield log


class TestSqliteLogWithFsync(LogContract):
    @pytest.fixture
    def log(self, tmp_path: Path) -> Iterator[EventLog]:
        with open_log(tmp_path / "log.db", durability="fsync") as log:
            yield log
