"""Killing the process between any two steps loses nothing that was accepted and shows nothing too long."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import tidings as td

ROOT = Path(__file__).parents[2]


def run_until(kill_after: int, module: str, *paths: Path) -> tuple[list[str], bool]:
    """Start the child, kill -9 it after so many lines; gives all it said it accepted before it died."""
    command = [sys.executable, "-m", f"tests.agent.{module}", *map(str, paths)]
    accepted: list[str] = []
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        for number, line in enumerate(child.stdout, 1):
            if line.startswith("finished"):
                return accepted, True
            if not line.endswith("\n"):
                break  # killed while it said so
            accepted.append(line.split()[1])
            if number == kill_after:
                child.kill()
    return accepted, False


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_session_survives_kills_at_random_points(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    log, requests = tmp_path / "log.db", tmp_path / "requests.jsonl"
    accepted: list[str] = []
    for _ in range(30):
        more, finished = run_until(chance.randint(1, 4), "killed", log, requests)
        accepted += more
        if finished:
            break
    assert finished
    with td.open_log(f"sqlite:///{log}") as opened:
        opened.verify()
        records = list(opened.read("transcript.reminder.lifecycle"))
        transcript = td.replay(opened, "s")
    shown: Counter[str] = Counter()
    for record in records:
        if record.kind.endswith(".fired"):
            shown[record.payload["reminder_id"]] += 1
    left = {r.id: 2 - (r.ttl_turns or 0) for r in transcript.pending}
    assert set(accepted) == {f"turn-{n}" for n in range(1, 12)}
    assert {name: shown[name] for name in accepted if name not in left} == dict.fromkeys(
        (name for name in accepted if name not in left), 2
    )
    assert all(shown[name] == count for name, count in left.items())
    bodies = [json.loads(line) for line in requests.read_text().splitlines()]
    assert {b["turn"] for b in bodies} == set(range(1, transcript.turn + 1))


@pytest.mark.parametrize("seed", [1, 2])
def test_an_accepted_event_survives_kills_and_its_reminder_is_let_in_once(
    seed: int, tmp_path: Path
) -> None:
    chance = random.Random(seed)
    path = tmp_path / "log.db"
    accepted: list[str] = []
    for _ in range(40):
        more, finished = run_until(chance.randint(1, 6), "killed_events", path)
        accepted += more
        if finished:
            break
    assert finished
    with td.open_log(f"sqlite:///{path}") as log:
        log.verify()
        topic = [(r.kind, r.payload) for r in log.read("session.s.transcript")]
        assert td.Session("s", log=log).stored.events == ()
    emitted = [p["payload"]["path"] for kind, p in topic if kind == "session.emitted"]
    told = [p["event"]["reminder"]["body"] for kind, p in topic if kind == "transcript.injected"]
    assert set(accepted) <= set(emitted)
    assert sorted(told) == sorted(emitted)
