"""Killing the process between any two steps loses no accepted reminder and shows none too long."""

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


def run_until(log: Path, requests: Path, kill_after: int) -> tuple[list[str], bool]:
    """Start the child, kill -9 it after so many lines; gives all it said it accepted before it died."""
    command = [sys.executable, "-m", "tests.agent.killed", str(log), str(requests)]
    accepted: list[str] = []
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        for number, line in enumerate(child.stdout, 1):
            if line.startswith("finished"):
                return accepted, True
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
        more, finished = run_until(log, requests, chance.randint(1, 4))
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
