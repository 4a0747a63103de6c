"""Ignore files mean here what they mean to git: the same tree, asked both ways."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tidings.watchers.ignoring import Ignores

TREE = {
    ".gitignore": "*.log\n!keep.log\n/build/\ntarget/\ndocs/**/*.tmp2\n# no\n\\#odd\nsecret?.txt\n[ab].c\n",
    "sub/.gitignore": "!*.log\nlocal.txt\n/only-here.txt\n",
    "sub/deep/.gitignore": "*\n!.gitignore\n!wanted.md\n",
    "a.log": "", "keep.log": "", "build/x.txt": "", "sub/build/x.txt": "", "target/y": "",
    "sub/target/z": "",
    "docs/a/b/c.tmp2": "", "docs/c.tmp2": "", "#odd": "", "odd": "", "secret1.txt": "", "secret12.txt": "",
    "a.c": "", "c.c": "", "sub/b.log": "", "sub/local.txt": "", "local.txt": "", "sub/only-here.txt": "",
    "sub/x/only-here.txt": "", "sub/deep/wanted.md": "", "sub/deep/other.md": "",
    "sub/deep/er/wanted.md": "",
    "target/keep.log": "", "with space.txt": "",
}  # fmt: skip


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, text in TREE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_the_verdict_on_every_file_of_a_tree_is_gits(tree: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=tree, check=True, timeout=60)
    asked = "\0".join(TREE)
    done = subprocess.run(
        ["git", "check-ignore", "--no-index", "-z", "--stdin"],
        cwd=tree,
        input=asked,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    by_git = set(filter(None, done.stdout.split("\0")))
    assert {name for name in TREE if Ignores(tree).file(name)} == by_git
    assert 10 < len(by_git) < len(TREE)


def test_vcs_folders_caches_and_scratch_files_never_count(tmp_path: Path) -> None:
    ignores = Ignores(tmp_path)
    never = [".git/HEAD", "a/.hg/store", "node_modules/x.js", "a/__pycache__/m.pyc", "src/.x.swp", "a.py~"]
    assert [name for name in never if not ignores.file(name)] == []
    assert not ignores.file("src/git.py")


def test_the_folders_in_which_coding_agents_keep_settings_and_sessions_never_count(tmp_path: Path) -> None:
    ignores = Ignores(tmp_path)
    kept = [
        ".claude/settings.local.json",
        ".codex/hooks.json",
        ".gemini/settings.json",
        ".opencode/plugins/tidings.js",
        "packages/web/.claude/worktrees/a/b.py",
    ]
    assert [name for name in kept if not ignores.file(name)] == []
    told = ["CLAUDE.md", "AGENTS.md", "opencode.json", "claude/notes.md"]
    assert [name for name in told if ignores.file(name)] == []


def test_the_private_exclude_file_of_a_repository_counts(tmp_path: Path) -> None:
    (tmp_path / ".git/info").mkdir(parents=True)
    (tmp_path / ".git/info/exclude").write_text("scratch/\n")
    assert Ignores(tmp_path).file("scratch/a.py")


def test_ignore_files_above_the_watched_folder_count_up_to_the_repositorys_own(tmp_path: Path) -> None:
    repository = tmp_path / "repo"
    (repository / "app/src/gen").mkdir(parents=True)
    subprocess.run(["git", "init", "-q"], cwd=repository, check=True, timeout=60)
    (tmp_path / ".gitignore").write_text("*.py\n")
    (repository / ".gitignore").write_text("*.log\n/app/src/gen/\nbuild/\n/a.txt\n")
    (repository / "app/.gitignore").write_text("!keep.log\n")
    names = ["a.log", "keep.log", "a.py", "gen/x.py", "build/x", "a.txt", "sub/keep.log"]
    done = subprocess.run(
        ["git", "check-ignore", "--no-index", *names],
        cwd=repository / "app/src",
        stdout=subprocess.PIPE,
        text=True,
        timeout=60,
        check=False,
    )
    ignores = Ignores(repository / "app/src")
    assert [name for name in names if ignores.file(name)] == done.stdout.splitlines()
    assert done.stdout.splitlines() == ["a.log", "gen/x.py", "build/x"]


def test_a_folder_that_is_ignored_above_is_watched_if_it_is_the_one_to_watch(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "build").mkdir()
    (tmp_path / ".gitignore").write_text("build/\n*.o\n")
    ignores = Ignores(tmp_path / "build")
    assert (ignores.file("a.txt"), ignores.file("a.o"), ignores.folder("build")) == (False, True, True)


def test_a_changed_ignore_file_is_read_anew_when_told_to(tmp_path: Path) -> None:
    ignores = Ignores(tmp_path)
    before = ignores.file("a.txt")
    (tmp_path / ".gitignore").write_text("*.txt\n")
    still = ignores.file("a.txt")
    ignores.forget()
    assert (before, still, ignores.file("a.txt")) == (False, False, True)


def test_ignore_files_that_cannot_be_read_say_nothing(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").mkdir()
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/.gitignore").write_bytes(b"\xff\xfe*.txt\n\0\n")
    assert not Ignores(tmp_path).file("sub/b.md")
