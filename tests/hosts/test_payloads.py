"""The recorded payloads: all of them are there, with nothing of the machine they come from."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.interop.hosts.neutral import HOME, WORK, Neutral, places
from tidings.hosts.happening import HOSTS

PAYLOADS = Path(__file__).parent / "payloads"
FILES = sorted(PAYLOADS.rglob("*.json*"))
SCENES = ("batch", "child", "compaction", "edit")
PATCHING = ("codex", "opencode")
"""Hosts that give some models a tool for patches."""
PATH = re.compile(r"(?<![\w/.<:])/[A-Za-z][\w./-]+")
NEUTRAL_PLACES = (WORK, HOME, "/tmp/claude-0/-workspace")


def label(path: Path) -> str:
    return str(path.relative_to(PAYLOADS))


@pytest.mark.parametrize("path", FILES, ids=label)
def test_a_payload_is_json_and_names_no_path_of_a_machine(path: Path) -> None:
    text = path.read_text()
    told = [json.loads(each) for each in (text.splitlines() if path.suffix == ".jsonl" else [text])]
    assert all(each.get("hook_event_name") or each.get("hook") for each in told)
    assert [each for each in PATH.findall(text) if not each.startswith(NEUTRAL_PLACES)] == []


@pytest.mark.parametrize("host", HOSTS)
def test_every_scene_was_recorded_with_every_host(host: str) -> None:
    more = ("patch",) if host in PATCHING else ()
    assert {path.stem for path in (PAYLOADS / host).glob("*.jsonl")} == {*SCENES, *more}


def test_the_same_id_stays_the_same_and_keeps_its_form() -> None:
    neutral = Neutral(places("/private/x/work", "/private/x/home", "/private/x/tmp"))
    session = "3ff2bd9b-4789-4dca-bfa2-f6e22f24efe0"
    told = {
        "session_id": session,
        "transcript_path": f"/private/x/home/.claude/projects/-private-x-work/{session}.jsonl",
        "cwd": "/private/x/work",
        "agent_id": "a1f5a6be8a89c3041",
        "part": "prt_1dfc328e7001JmeHFTroFIxIhd",
        "created": 1794755471569,
        "prompt": "Do it on 2026-11-15.",
    }
    assert json.loads(neutral(json.dumps(told))) == {
        "session_id": "00000000-0000-4000-8000-000000000001",
        "transcript_path": f"{HOME}/.claude/projects/-workspace/00000000-0000-4000-8000-000000000001.jsonl",
        "cwd": WORK,
        "agent_id": "a0000000000000002",
        "part": "prt_00000000000000000000000003",
        "created": 1767225600000,
        "prompt": "Do it on 2026-11-15.",
    }
