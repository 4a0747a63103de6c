"""The system's word about a set of folders that changes: from one set to the next nothing is lost."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tidings.watchers.lookout import Lookout

pytest.importorskip("watchfiles", reason="watchfiles is not installed: pip install 'tidings[watch]'")

TIMEOUT_MS = 10_000


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in "ab":
        (tmp_path / name).mkdir()
    return tmp_path.resolve()


@pytest.fixture
def lookout(root: Path) -> Iterator[Lookout]:
    looking = Lookout(root, threading.Event(), None)
    looking.cover(["", "a"])
    yield looking
    looking.close()


def heard(lookout: Lookout, *wanted: str) -> set[str]:
    """What of `wanted` is heard of before nothing more comes."""
    found: set[str] = set()
    while not found.issuperset(wanted):
        raw = lookout.wait(TIMEOUT_MS)
        if not raw:
            break
        found |= raw
    return found.intersection(wanted)


@pytest.mark.parametrize("times", [1, 2, 5])
def test_what_happened_just_before_the_folders_changed_is_heard_of(
    root: Path, lookout: Lookout, times: int
) -> None:
    for number in range(times):
        (root / "a" / str(number)).write_text("x")
        lookout.cover(["", "a", "b"])
    (root / "b" / "after").write_text("x")
    wanted = {"b/after", *(f"a/{number}" for number in range(times))}
    assert heard(lookout, *wanted) == wanted
