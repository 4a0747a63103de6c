"""grounded_review on real output: what each captured run of a verifier is found to say.

`expected.json` holds the findings of every fixture, read and approved by a person; write it anew with
`python -m tests.agent.providers.test_fixtures` after a change, and review the diff.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tidings.agent.providers.review.review import findings

HERE = Path(__file__).parent / "fixtures"
MANIFEST = json.loads((HERE / "manifest.json").read_text())
EXPECTED = HERE / "expected.json"
ONLY_NITS = {"ruff_style_only"}
"""Failing runs that name nothing but style: quiet unless warnings are asked for."""


def payload(name: str, **more: object) -> dict[str, object]:
    """What `post_tool_use` carries when a command tool ran the fixture's command."""
    code = MANIFEST[name]["exit_code"]
    text = f"[exit code {code}]\n{(HERE / f'{name}.txt').read_text() or '(no output)'}"
    return {
        "tool_name": "run_command",
        "arguments": {"command": MANIFEST[name]["command"]},
        "result": {"text": text, "exit_code": code, "timed_out": False, "truncated": False},
        "ok": code == 0,
        "error": None if code == 0 else text,
        "status": "finished" if code == 0 else "failed",
        **more,
    }


def found(name: str, *, warnings: bool = False) -> list[str]:
    return [f"{one.source}: {one.summary}" for one in findings(payload(name), warnings=warnings)]


@pytest.mark.parametrize("name", MANIFEST)
def test_a_captured_run_gives_exactly_these_findings(name: str) -> None:
    expected = json.loads(EXPECTED.read_text())[name]
    assert {"errors": found(name), "with_warnings": found(name, warnings=True)} == expected


@pytest.mark.parametrize("name", [name for name, run in MANIFEST.items() if run["exit_code"] == 0])
def test_a_run_that_passed_gives_nothing(name: str) -> None:
    assert found(name) == []


@pytest.mark.parametrize("name", [name for name, run in MANIFEST.items() if run["exit_code"] != 0])
def test_a_run_that_failed_gives_a_finding_unless_it_is_about_style(name: str) -> None:
    assert bool(found(name)) is (name not in ONLY_NITS)


@pytest.mark.parametrize("name", MANIFEST)
def test_the_same_text_without_exit_code_or_status_tells_as_much(name: str) -> None:
    text = (HERE / f"{name}.txt").read_text()
    bare = findings({"tool_name": "sh", "args": {"cmd": MANIFEST[name]["command"]}, "result": text})
    silent = {"pytest_nothing_found"}  # it says so with its exit code alone
    assert [one.summary for one in bare] == (
        [] if name in silent else [one.summary for one in findings(payload(name))]
    )


@pytest.mark.parametrize("name", MANIFEST)
def test_a_person_reading_the_same_text_runs_no_verifier(name: str) -> None:
    text = (HERE / f"{name}.txt").read_text()
    read = {
        "tool_name": "read_file",
        "arguments": {"path": "build.log"},
        "result": {"text": text},
        "ok": True,
    }
    shown = {
        "tool_name": "sh",
        "arguments": {"command": "cat build.log"},
        "result": {"text": text},
        "ok": True,
    }
    assert (findings(read), findings(shown)) == ([], [])


def test_the_fixtures_name_no_machine() -> None:
    texts = [path.read_text() for path in HERE.glob("*.txt")]
    folders = [f"/{name}/" for name in ("tmp", "root", "home")]
    assert [text for text in texts if any(folder in text for folder in folders)] == []
    assert {path.stem for path in HERE.glob("*.txt")} == set(MANIFEST)


if __name__ == "__main__":
    every = {n: {"errors": found(n), "with_warnings": found(n, warnings=True)} for n in MANIFEST}
    EXPECTED.write_text(json.dumps(every, indent=1, ensure_ascii=False) + "\n")
