"""What happens to the watched folder itself and to what lies in it: odd, sudden, hostile."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
import threading
from asyncio.subprocess import PIPE
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.watchers.waiting import DEADLINE, Following, following
from tidings.errors import CallerError
from tidings.watchers import surveying
from tidings.watchers import tree as tree_module
from tidings.watchers.files import FileWatcher
from tidings.watchers.told import Told


def told(root: Path, *acts: Callable[[], object], after: int = 0) -> list[str]:
    """What each act is told as, in the words of its body; `after`: how many more are waited for."""

    async def play(watcher: Following) -> list[str]:
        bodies = []
        for act in acts:
            await asyncio.to_thread(act)
            bodies.append((await watcher.next()).body)
        return bodies + [(await watcher.next()).body for _ in range(after)]

    return watched(root, play)


def watched(root: Path, play: Callable[[Following], Awaitable[list[str]]]) -> list[str]:
    async def run() -> list[str]:
        async with following(FileWatcher(root)) as watcher:
            found = await play(watcher)
            assert watcher.news.empty()
            return found

    return asyncio.run(run())


def edited(path: str) -> str:
    return f"{path} changed on disk; re-read it before editing."


def created(path: str) -> str:
    return f"{path} was created on disk."


def deleted(path: str) -> str:
    return f"{path} was deleted on disk; do not rely on it."


def test_a_folder_that_goes_and_comes_back_is_told_and_watched_again(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.txt").write_text("x")

    def comes_back() -> None:
        root.mkdir()
        (root / "b.txt").write_text("x")

    bodies = told(root, lambda: shutil.rmtree(root), comes_back, lambda: (root / "b.txt").write_text("xx"))
    assert bodies == [deleted("a.txt"), created("b.txt"), edited("b.txt")]


def test_a_folder_that_is_replaced_at_once_is_watched_under_its_name(tmp_path: Path) -> None:
    root, other = tmp_path / "root", tmp_path / "other"
    for folder in (root, other):
        folder.mkdir()
    (root / "a.txt").write_text("x")
    (other / "b.txt").write_text("x")

    def replaced() -> None:
        root.rename(tmp_path / "old")
        other.rename(root)

    bodies = told(root, replaced, lambda: (root / "b.txt").write_text("xx"), after=1)
    assert sorted(bodies) == sorted([deleted("a.txt"), created("b.txt"), edited("b.txt")])


def test_a_folder_inside_that_is_deleted_and_made_anew_is_still_watched(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/a.txt").write_text("x")

    def made_anew() -> None:
        shutil.rmtree(tmp_path / "sub")
        (tmp_path / "sub").mkdir()

    bodies = told(tmp_path, made_anew, lambda: (tmp_path / "sub/b.txt").write_text("x"))
    assert bodies == [deleted("sub/a.txt"), created("sub/b.txt")]


def test_folders_made_within_folders_are_watched_from_the_moment_they_are_there(tmp_path: Path) -> None:
    def deep() -> None:
        (tmp_path / "a/b/c/d").mkdir(parents=True)
        (tmp_path / "a/b/c/d/e.txt").write_text("x")

    bodies = told(tmp_path, deep, lambda: (tmp_path / "a/b/c/d/e.txt").write_text("xx"))
    assert bodies == [created("a/b/c/d/e.txt"), edited("a/b/c/d/e.txt")]


def test_a_folder_that_was_moved_is_watched_under_its_new_name(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/x.txt").write_text("x")
    bodies = told(
        tmp_path,
        lambda: (tmp_path / "a").rename(tmp_path / "b"),
        lambda: (tmp_path / "b/x.txt").write_text("xx"),
    )
    assert bodies == [
        "a/x.txt was renamed on disk: it is now b/x.txt. Use the new path.",
        edited("b/x.txt"),
    ]


def test_a_file_that_takes_the_inode_of_a_deleted_one_is_not_called_renamed(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    os.utime(tmp_path / "a.txt", (1, 1))

    def another() -> None:
        (tmp_path / "a.txt").unlink()
        (tmp_path / "b.txt").write_text("y")

    assert told(tmp_path, another, after=1) == [deleted("a.txt"), created("b.txt")]


def test_a_rename_that_changes_only_the_case_is_a_rename(tmp_path: Path) -> None:
    (tmp_path / "Readme.md").write_text("x")
    bodies = told(tmp_path, lambda: (tmp_path / "Readme.md").rename(tmp_path / "README.md"))
    assert bodies == ["Readme.md was renamed on disk: it is now README.md. Use the new path."]


def test_new_permissions_are_no_news(tmp_path: Path) -> None:
    for name in ("a.sh", "b.sh"):
        (tmp_path / name).write_text("x")
        os.utime(tmp_path / name, (1, 1))

    def only_one_is_edited() -> None:
        (tmp_path / "a.sh").chmod(0o755)
        (tmp_path / "b.sh").write_text("xx")

    assert told(tmp_path, only_one_is_edited) == [edited("b.sh")]


def vim(path: Path) -> None:
    """As vim saves by default: the old file becomes a backup, a new one is written, the backup goes."""
    backup = path.with_name(path.name + "~")
    path.rename(backup)
    path.write_text("saved by vim")
    backup.unlink()


def jetbrains(path: Path) -> None:
    """As JetBrains editors save: written beside, the old one put aside, both exchanged."""
    new, old = path.with_name(path.name + "___jb_tmp___"), path.with_name(path.name + "___jb_old___")
    new.write_text("saved by an IDE")
    path.rename(old)
    new.rename(path)
    old.unlink()


def vscode(path: Path) -> None:
    """As VS Code saves: in place, cut to nothing first."""
    with path.open("w") as file:
        file.flush()
        file.write("saved in place")


def gedit(path: Path) -> None:
    """As GLib saves: a nameless file beside, moved over the old one."""
    new = path.with_name(".goutputstream-X3K2T2")
    new.write_text("saved by replacing")
    new.replace(path)


@pytest.mark.parametrize("save", [vim, jetbrains, vscode, gedit])
def test_a_file_saved_as_editors_do_was_edited_and_nothing_else(
    tmp_path: Path, save: Callable[[Path], None]
) -> None:
    (tmp_path / "a.py").write_text("before")
    assert told(tmp_path, lambda: save(tmp_path / "a.py")) == [edited("a.py")]


def test_links_are_not_followed_neither_in_circles_nor_to_the_outside(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    for folder in (root, outside):
        folder.mkdir()
    (outside / "secret.txt").write_text("x")
    (root / "out").symlink_to(outside)
    (root / "round").symlink_to(root)
    (root / "everything").symlink_to("/")

    def both() -> None:
        (outside / "secret.txt").write_text("xx")
        (root / "a.txt").write_text("x")

    again = root / "again"
    assert told(root, both, lambda: again.symlink_to(outside)) == [created("a.txt"), created("again")]


def test_a_file_that_becomes_a_folder_and_back_is_told_both_times(tmp_path: Path) -> None:
    path = tmp_path / "thing"
    path.write_text("x")

    def a_folder() -> None:
        path.unlink()
        path.mkdir()
        (path / "inside.txt").write_text("x")

    def a_file() -> None:
        shutil.rmtree(path)
        path.write_text("x")

    folder = told(tmp_path, a_folder, after=1)
    assert sorted(folder) == sorted([deleted("thing"), created("thing/inside.txt")])
    file = told(tmp_path, a_file, after=1)
    assert sorted(file) == sorted([deleted("thing/inside.txt"), created("thing")])


def test_what_an_ignore_file_lets_in_or_shuts_out_is_no_news_by_itself(tmp_path: Path) -> None:
    ignore, old, log = (tmp_path / name for name in (".gitignore", "old.txt", "sub/a.log"))
    log.parent.mkdir()
    for path, text in ((ignore, "*.log\n"), (old, "x"), (log, "x")):
        path.write_text(text)

    def both() -> None:
        old.write_text("xx")
        log.write_text("xx")

    bodies = told(
        tmp_path,
        lambda: ignore.write_text("*.txt\n"),
        both,
        lambda: ignore.write_text("#\n"),
        both,
        after=1,
    )
    assert bodies[:3] == [edited(".gitignore"), edited("sub/a.log"), edited(".gitignore")]
    assert sorted(bodies[3:]) == [edited("old.txt"), edited("sub/a.log")]


def test_a_folder_that_an_ignore_file_no_longer_shuts_out_is_watched_from_then_on(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("build/\n")
    (tmp_path / "build/deep").mkdir(parents=True)
    (tmp_path / "build/deep/a.txt").write_text("x")
    bodies = told(
        tmp_path,
        lambda: (tmp_path / ".gitignore").write_text("\n"),
        lambda: (tmp_path / "build/deep/a.txt").write_text("xx"),
    )
    assert bodies == [edited(".gitignore"), edited("build/deep/a.txt")]


def test_a_tree_unpacked_at_once_is_counted_exactly_and_all_of_it_is_watched(tmp_path: Path) -> None:
    def unpacked() -> None:
        for number in range(1_500):
            folder = tmp_path / f"d{number}/e"
            folder.mkdir(parents=True)
            for name in range(8):
                (folder / f"f{name}").write_text("x")

    async def play(watcher: Following) -> list[str]:
        await asyncio.to_thread(unpacked)
        counted = 0
        while counted < 12_000:
            one = await watcher.next()
            counted += int(one.body.split()[0].replace(",", "")) if isinstance(one, Told) else 0
        while not watcher.news.empty():
            await watcher.next()
        (tmp_path / "d1499/e/f7").write_text("xx")
        return [str(counted), (await watcher.next()).body]

    assert watched(tmp_path, play) == ["12000", edited("d1499/e/f7")]


def test_when_more_is_there_than_can_be_known_a_burst_says_at_least(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree_module, "MOST_FILES", 30)
    monkeypatch.setattr(tree_module, "OVERFLOW", 1)
    root, many = tmp_path / "root", tmp_path / "many"
    for folder in (root, many):
        folder.mkdir()
    for number in range(40):
        (many / f"f{number}").write_text("x")
    (body,) = told(root, lambda: many.rename(root / "many"))
    assert body.splitlines()[:2] == [
        "At least 30 files changed on disk at once (30 created).",
        "- many/: 30",
    ]


def test_more_folders_than_can_be_watched_are_an_error_that_names_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(surveying, "MOST_FOLDERS", 3)
    (tmp_path / "a/b/c").mkdir(parents=True)
    with pytest.raises(CallerError, match="has more than 3 folders; watch a part of it, or name in"):
        told(tmp_path)


def test_what_git_does_is_one_thing_however_slowly_it_does_it(tmp_path: Path) -> None:
    lock = tmp_path / ".git/index.lock"
    lock.parent.mkdir()

    async def play(watcher: Following) -> list[str]:
        lock.write_text("")
        for number in range(25):
            (tmp_path / f"f{number}").write_text("x")
            await asyncio.to_thread(threading.Event().wait, 0.02 if number % 5 else 0.2)
        (tmp_path / ".git/HEAD").write_text("ref: refs/heads/other")
        assert watcher.news.empty()
        lock.unlink()
        return [(await watcher.next()).body.splitlines()[0]]

    assert watched(tmp_path, play) == [
        "25 files changed on disk at once (25 created). The VCS moved to another commit."
    ]


def test_a_lock_that_was_left_behind_holds_nothing_up(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/index.lock").write_text("")
    os.utime(tmp_path / ".git/index.lock", (1, 1))
    assert told(tmp_path, lambda: (tmp_path / "a.txt").write_text("x")) == [created("a.txt")]


def test_a_repository_that_is_made_later_tells_of_its_checkouts(tmp_path: Path) -> None:
    for number in range(25):
        (tmp_path / f"f{number}").write_text("x")

    def checkout() -> None:
        (tmp_path / ".git/HEAD").write_text("ref: refs/heads/other")
        for number in range(25):
            (tmp_path / f"f{number}").write_text("xx")

    def made() -> None:
        (tmp_path / ".git").mkdir()
        (tmp_path / "a.txt").write_text("x")

    bodies = told(tmp_path, made, checkout)
    assert bodies[0] == created("a.txt")
    assert bodies[1].startswith(
        "25 files changed on disk at once (25 edited). The VCS moved to another commit."
    )


def test_a_folder_that_may_not_be_read_costs_only_what_is_in_it(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir()
    (closed / "a.txt").write_text("x")
    closed.chmod(0)
    powers = "-dac_override,-dac_read_search"
    plain = ["setpriv", f"--inh-caps={powers}", f"--bounding-set={powers}"] if os.geteuid() == 0 else []
    watch = [*plain, sys.executable, "-c", "from tidings.cli.start import run; run()"]

    async def play() -> str:
        process = await asyncio.create_subprocess_exec(
            *watch, "watch", "files", "--json", "--root", str(tmp_path), stdout=PIPE, stderr=PIPE
        )
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            async with asyncio.timeout(DEADLINE):
                while b'"watching"' not in await process.stderr.readline():
                    assert process.returncode is None
                (tmp_path / "b.txt").write_text("x")
                return str(json.loads(await process.stdout.readline())["body"])
        finally:
            closed.chmod(0o700)
            process.kill()
            await process.wait()

    assert asyncio.run(play()) == created("b.txt")
