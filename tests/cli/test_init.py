"""`tidings init` writes a file that its own reader takes, for what the project has."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tidings.cli.main import app
from tidings.hub.workspace.reading import read_text
from tidings.hub.workspace.settings import Config, Files, Suite, Watch
from tidings.hub.workspace.writing import look, written


def init(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["init", *map(str, arguments)])
    return result.exit_code, result.stdout, result.stderr


PROJECTS: dict[str, tuple[dict[str, str], Watch]] = {
    "nothing": ({}, Watch(files=Files())),
    "pytest": ({"tests/test_x.py": ""}, Watch(files=Files(), tests=Suite())),
    "cargo": ({"Cargo.toml": ""}, Watch(files=Files(), tests=Suite())),
    "vitest": (
        {"package.json": '{"devDependencies": {"vitest": "1"}}'},
        Watch(files=Files(), tests=Suite()),
    ),
    "several": (
        {"go.mod": "", "package.json": '{"dependencies": {"jest": "1"}}'},
        Watch(files=Files(), tests=Suite(command=("go", "test", "-json", "./..."))),
    ),
    "own environment": (
        {"go.mod": "", ".venv/bin/pytest": "", "pytest.ini": ""},
        Watch(files=Files(), tests=Suite(command=("go", "test", "-json", "./..."))),
    ),
}


@pytest.mark.parametrize(("files", "watch"), PROJECTS.values(), ids=PROJECTS.keys())
def test_the_written_file_is_read_as_what_the_project_has(
    tmp_path: Path, files: dict[str, str], watch: Watch
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    code, out, err = init(tmp_path)
    path = tmp_path.resolve() / "tidings.toml"
    assert (code, err, out.startswith(f"{path} is written.")) == (0, "", True)
    assert read_text(path.read_text(), tmp_path) == Config(watch=watch)
    assert str(tmp_path) not in path.read_text()


@pytest.mark.parametrize("files", [files for files, _ in PROJECTS.values()], ids=PROJECTS.keys())
def test_with_every_comment_taken_off_the_file_is_still_right(
    tmp_path: Path, files: dict[str, str]
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / ".git").mkdir()
    lines, seen = [], set()
    for line in written(look(tmp_path)).splitlines():
        bare = re.sub(r"^# (?=\[|[a-z_]+ = )", "", line)
        seen = set() if bare.startswith("[") else seen
        key = bare.partition(" = ")[0]
        lines += [] if key in seen else [bare]  # of several commands the first counts
        seen |= {key}
    config = read_text("\n".join(lines), tmp_path)
    assert config.watch.reviews is not None
    assert (list(config.servers), config.grants, config.sessions.tags) == (
        ["ci"], {"tests": ("interrupt_immediate", "wake_idle")}, ("release",),
    )  # fmt: skip


REMOTES = {
    "git@github.com:team/shop.git": ("github", "team/shop"),
    "https://github.com/team/shop": ("github", "team/shop"),
    "ssh://git@gitlab.example.org/team/shop.git/": ("gitlab", "team/shop"),
    "/srv/git/shop": None,
}


@pytest.mark.parametrize(("url", "forge"), REMOTES.items(), ids=REMOTES.keys())
def test_the_repository_is_named_by_its_remote(
    tmp_path: Path, url: str, forge: tuple[str, str] | None
) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    subprocess.run(["git", "-C", tmp_path, "remote", "add", "origin", url], check=True)
    found = look(tmp_path)
    assert (found.git, found.forge) == (True, forge)
    text = written(found)
    assert (f'repositories = ["{forge[1] if forge else "owner/name"}"]' in text) is True


def test_a_broken_git_config_is_no_reason_to_fail(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text("not a config")
    assert look(tmp_path).forge is None


def test_a_file_that_is_there_is_kept_unless_forced(tmp_path: Path) -> None:
    path = tmp_path.resolve() / "tidings.toml"
    path.write_text("# mine\n")
    told = f"tidings: {str(path)!r} is there already; look at it, or give --force\n"
    assert init(tmp_path) == (2, "", told)
    assert path.read_text() == "# mine\n"
    assert init(tmp_path, "--force")[0] == 0
    assert "[watch.files]" in path.read_text()


def test_a_dry_run_prints_the_file_and_writes_none(tmp_path: Path) -> None:
    code, out, _ = init(tmp_path, "--dry-run")
    assert (code, list(tmp_path.iterdir())) == (0, [])
    assert read_text(out, tmp_path) == Config(watch=Watch(files=Files()))
    code, out, _ = init(tmp_path, "--dry-run", "--json")
    about = json.loads(out)
    assert (about["written"], about["path"]) == (False, str(tmp_path.resolve() / "tidings.toml"))


def test_a_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    told = f"tidings: {str(tmp_path / 'x')!r} is not a folder; give one that exists\n"
    assert init(tmp_path / "x") == (2, "", told)
