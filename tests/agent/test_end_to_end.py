"""The loop in a process of its own, on the vendors' real SDKs over HTTP, killed at random points."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import tidings as td
from tidings.testing.fake_provider import Call, FakeProvider, Say

ROOT = Path(__file__).parents[2]
ROUTES = {
    "anthropic/claude-sonnet-4-5": "url",
    "anthropic/claude-fable-5-2": "url",
    "openai/gpt-5": "openai_url",
    "openai-responses/gpt-5": "openai_url",
    "gemini/gemini-2.5-pro": "url",
}


def run_until(log: Path, model: str, url: str, kill_after: int) -> tuple[list[str], str]:
    """Start the child, kill -9 it after so many lines; gives what it accepted and how it ended."""
    command = [sys.executable, "-m", "tests.agent.served", str(log), model, url]
    accepted: list[str] = []
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        for number, line in enumerate(child.stdout, 1):
            if line.startswith("finished"):
                return accepted, line.strip()
            if not line.endswith("\n"):
                break  # killed while it said so
            accepted.append(line.split()[1])
            if number == kill_after:
                child.kill()
    return accepted, ""


@pytest.mark.parametrize("model", ROUTES)
def test_every_request_stays_legal_and_nothing_accepted_is_lost(model: str, tmp_path: Path) -> None:
    chance = random.Random(model)
    log, accepted, ended = tmp_path / "log.db", [], ""
    steps = [Say(calls=(Call("look"),))] * 9 + [Say(text="done")] * 9
    with FakeProvider(*steps) as provider:
        for attempt in range(6):
            kill_after = chance.randint(2, 4) if attempt < 2 else 1_000
            more, ended = run_until(log, model, getattr(provider, ROUTES[model]), kill_after)
            accepted += more
            if ended:
                break
        assert ended == "finished done None"
        assert provider.refused == []
        bodies = [json.dumps(body) for body in provider.bodies]
    with td.open_log(f"sqlite:///{log}") as opened:
        opened.verify()
        records = list(opened.read("transcript.reminder.lifecycle"))
        transcript = td.replay(opened, "s")
    fired: Counter[str] = Counter(r.payload["reminder_id"] for r in records if r.kind.endswith(".fired"))
    waiting = {r.id for r in transcript.pending}
    once = td.route(model).preserved_thinking
    assert accepted
    for name in accepted:
        assert fired[name] >= 1
        assert fired[name] == (1 if once else 2) or name in waiting
        assert any(f"news of turn {name.removeprefix('turn-')}" in body for body in bodies)
