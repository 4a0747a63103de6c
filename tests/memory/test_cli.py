"""`tidings memory` in this process: what each command prints, and its exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tidings.cli.main import app

SAID = "We deploy to production on Tuesdays only."


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a project in it, and a memory of our own."""
    (tmp_path / "harbor" / ".git").mkdir(parents=True)
    (tmp_path / "harbor" / "src").mkdir()
    monkeypatch.chdir(tmp_path / "harbor" / "src")
    monkeypatch.setenv("TIDINGS_MEMORY", str(tmp_path / "memory.db"))
    return tmp_path / "memory.db"


def memory(*arguments: str, given: str | bytes = "") -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["memory", *arguments], input=given, prog_name="tidings")
    return result.exit_code, result.stdout, result.stderr


def remembered(*arguments: str) -> str:
    code, out, _ = memory("remember", *arguments, "--json")
    assert code == 0
    return str(json.loads(out)["id"])


def test_what_is_remembered_is_recalled_and_listed_in_the_project_of_the_folder() -> None:
    name = remembered(SAID)
    code, out, err = memory("recall", "When may we deploy?", "--as-message", "--json")
    (found,) = json.loads(out)["memories"]
    assert (code, err, found["content"], found["id"]) == (0, "", SAID, name)
    assert f"{name} [harbor]  {SAID}" in memory("list")[1]
    assert memory("recall", "When may we deploy?", "--project", "other")[1] == ""


def test_silence_is_said_on_standard_error() -> None:
    remembered(SAID)
    assert memory("recall", "What do cats dream about?") == (
        0,
        "",
        "tidings: nothing is remembered about this\n",
    )


def test_saying_it_again_and_replacing_it_are_told() -> None:
    name = remembered(SAID)
    assert memory("remember", SAID) == (0, f"known already: {name}\n", "")
    out = memory("remember", "Deploys happen on Mondays.", "--replaces", name)[1]
    assert out.splitlines()[1:] == [f"replaces: {name}"]


def test_a_secret_is_refused_and_forced() -> None:
    secret = "The token is ghp_0123456789abcdefghijklmnopqrstuvwxyzAB for the bot."
    code, out, err = memory("remember", secret)
    assert (code, out) == (2, "")
    assert "looks like a secret" in err
    assert "ghp_" not in err
    assert memory("remember", secret, "--force")[0] == 0


def test_forgetting_shows_first_forgets_then_and_clears_the_bytes(place: Path) -> None:
    name = remembered(SAID)
    code, out, _ = memory("forget", "--containing", "tuesdays", "--dry-run")
    assert (code, SAID in out, name in out) == (0, True, True)
    assert memory("forget", name) == (0, "forgotten: 1\n", "")
    assert b"Tuesdays" not in place.read_bytes()
    assert memory("list") == (0, "", "")


def test_an_export_is_imported_elsewhere(tmp_path: Path) -> None:
    remembered(SAID, "--key", "deploys", "--tag", "ops", "--pin", "--until", "2099-01-01")
    _, lines, _ = memory("export")
    other = str(tmp_path / "other.db")
    assert memory("import", "-", "--file", other, given=lines) == (0, "imported: 1, known already: 0\n", "")
    assert memory("export", "--file", other) == (0, lines, "")


def test_bad_lines_are_named_and_nothing_is_imported() -> None:
    code, out, err = memory("import", "-", given='{"text": "Fine."}\n{"txt": 1}\n')
    assert (code, out) == (2, "")
    assert "line 2: `text` must be a non-blank string; it is missing; unknown key `txt`" in err
    assert memory("list")[1] == ""


def test_a_damaged_file_is_found_and_repaired_from_an_export(place: Path, tmp_path: Path) -> None:
    remembered(SAID)
    (tmp_path / "backup.jsonl").write_text(memory("export")[1])
    assert memory("check") == (0, "sound\n", "")
    place.write_bytes(b"no database" * 500)
    code, out, _ = memory("check")
    assert (code, out.startswith("damaged: memory ")) == (1, True)
    code, out, _ = memory("recall", "deploy")
    assert code == 2
    code, out, _ = memory("check", "--repair", "--from", str(tmp_path / "backup.jsonl"))
    assert (code, "0 memories were readable, 1 came from the export" in out) == (0, True)
    assert SAID in memory("list")[1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("recall", "x"), "there is no memory at"),
        (("remember", "x", "--project", "a", "--everywhere"), "give --project or --everywhere, not both"),
        (("check", "--from", "x"), "--from goes with --repair"),
        (("import", "nowhere.jsonl"), "nowhere.jsonl cannot be read"),
        (("remember", "x", "--until", "soon"), "`valid_to` must be ISO 8601"),
    ],
)
def test_a_wrong_use_is_one_line_and_exit_code_2(arguments: tuple[str, ...], said: str) -> None:
    code, out, err = memory(*arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err
