"""The option `--log`: a path, an address, and nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidings.bridge.log_option import open_named
from tidings.errors import LogUsageError
from tidings.log.memory import MemoryLog
from tidings.log.sqlite import SqliteLog


@pytest.mark.parametrize("form", ["{}", "sqlite:///{}"])
def test_a_path_and_an_address_name_the_same_file(form: str, tmp_path: Path) -> None:
    path = tmp_path.resolve() / "log.db"
    with open_named(form.format(path)) as log:
        assert isinstance(log, SqliteLog)
        assert log.path == path


def test_memory_is_no_file() -> None:
    with open_named("memory:") as log:
        assert isinstance(log, MemoryLog)


@pytest.mark.parametrize("typed", ["", " ", "postgres://host/db", "nowhere:"])
def test_what_names_no_log_is_refused(typed: str) -> None:
    with pytest.raises(LogUsageError):
        open_named(typed)
