"""One file, several processes: killed ones lose nothing that was acknowledged."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer

from tidings.recall.store import FactStore

CHILD = Path(__file__).with_name("child.py")
DEADLINE = 60.0


@contextmanager
def child(*arguments: object) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, str(CHILD), *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        deadline = Timer(DEADLINE, process.kill)
        deadline.start()
        try:
            yield process
        finally:
            deadline.cancel()
            process.kill()


def test_two_processes_store_into_one_file(tmp_path: Path) -> None:
    path = tmp_path / "facts.db"
    with child("store", path, "first", 60) as one, child("store", path, "second", 60) as two:
        out = [process.communicate(timeout=DEADLINE)[0] for process in (one, two)]
    with FactStore(path) as store:
        assert store.count() == 120
        assert all(len(store.history(name)) == 1 for name in "".join(out).split())
        for query in ("first number7", "second number59"):
            assert store.recall_facts(query)[0].fact.claim.replace(" stored", "") == query


def test_a_killed_writer_loses_no_acknowledged_fact(tmp_path: Path) -> None:
    path = tmp_path / "facts.db"
    with child("store", path, "killed", 0) as writer:
        assert writer.stdout is not None
        acknowledged = [writer.stdout.readline().strip() for _ in range(50)]
        writer.kill()
        rest, _ = writer.communicate(timeout=DEADLINE)
    complete = rest[: rest.rfind("\n") + 1].split()
    with FactStore(path) as store:
        assert all(len(store.history(name)) == 1 for name in (*acknowledged, *complete))
        assert store.count() >= 50 + len(complete)
        assert store.recall_facts("killed number49")[0].fact.claim == "killed stored number49"
        assert store.store_fact(kind="claim", claim="After.", confidence=1).claim == "After."


def test_a_fact_stored_elsewhere_is_found_here_at_once(tmp_path: Path) -> None:
    path = tmp_path / "facts.db"
    with FactStore(path) as store:
        assert store.recall_facts("elsewhere") == ()
        with child("store", path, "elsewhere", 1) as other:
            assert other.communicate(timeout=DEADLINE)[0] != ""
        assert [one.fact.claim for one in store.recall_facts("elsewhere")] == ["elsewhere stored number0"]
