"""The file watcher on real folders."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from tests.watchers.waiting import following
from tidings.errors import CallerError
from tidings.watchers import tree as tree_module
from tidings.watchers.files import FileWatcher
from tidings.watchers.own import OwnWrites
from tidings.watchers.told import Noticed, Told


async def every(watcher: FileWatcher) -> list[object]:
    return [news async for news in watcher.watch()]


def test_what_people_do_in_an_editor_and_a_shell_is_told_by_name(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/a.py").write_text("one")

    async def play() -> list[str]:
        bodies = []
        async with following(FileWatcher(tmp_path)) as watcher:
            for act in (
                lambda: (tmp_path / "src/a.py").write_text("two"),
                lambda: (tmp_path / "src/b.py").write_text("new"),
                lambda: (tmp_path / "src/a.py").rename(tmp_path / "src/c.py"),
                lambda: (tmp_path / "src").rename(tmp_path / "lib"),
                lambda: (tmp_path / "lib/b.py").unlink(),
            ):
                act()
                bodies.append((await watcher.next()).body)
                if "lib/b.py" in bodies[-1] and "renamed" in bodies[-1]:
                    bodies.append((await watcher.next()).body)
        return bodies

    assert asyncio.run(play()) == [
        "src/a.py changed on disk; re-read it before editing.",
        "src/b.py was created on disk.",
        "src/a.py was renamed on disk: it is now src/c.py. Use the new path.",
        "src/b.py was renamed on disk: it is now lib/b.py. Use the new path.",
        "src/c.py was renamed on disk: it is now lib/c.py. Use the new path.",
        "lib/b.py was deleted on disk; do not rely on it.",
    ]


def test_a_file_that_is_saved_by_replacing_it_was_edited(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("one")

    async def play() -> object:
        async with following(FileWatcher(tmp_path)) as watcher:
            (tmp_path / ".a.py.123").write_text("two")
            (tmp_path / ".a.py.123").replace(tmp_path / "a.py")
            return await watcher.next()

    told = asyncio.run(play())
    assert isinstance(told, Told)
    assert told.body == "a.py changed on disk; re-read it before editing."


def test_ignored_files_are_silent_and_a_changed_ignore_file_counts_at_once(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("*.log\n")

    async def play() -> list[object]:
        async with following(FileWatcher(tmp_path)) as watcher:
            (tmp_path / "a.log").write_text("x")
            (tmp_path / "b.txt").write_text("x")
            first = (await watcher.next()).body
            (tmp_path / ".gitignore").write_text("*.txt\n")
            second = (await watcher.next()).body
            (tmp_path / "c.txt").write_text("x")
            (tmp_path / "d.log").write_text("x")
            return [first, second, (await watcher.next()).body, watcher.news.qsize()]

    assert asyncio.run(play()) == [
        "b.txt was created on disk.",
        ".gitignore changed on disk; re-read it before editing.",
        "d.log was created on disk.",
        0,
    ]


def test_the_agents_own_writes_are_silent_and_other_peoples_are_not(tmp_path: Path) -> None:
    own = OwnWrites(tmp_path)
    for name in ("mine.py", "theirs.py"):
        (tmp_path / name).write_text("before")

    async def play() -> tuple[str, int]:
        async with following(FileWatcher(tmp_path, own=own)) as watcher:
            (tmp_path / "mine.py").write_text("by the agent")
            own.note("mine.py")
            (tmp_path / "theirs.py").write_text("by the user")
            told = await watcher.next()
            (tmp_path / "mine.py").write_text("now by the user too")
            again = await watcher.next()
            return f"{told.body} {again.body}", watcher.news.qsize()

    assert asyncio.run(play()) == (
        "theirs.py changed externally; re-read it before editing. "
        "mine.py changed externally; re-read it before editing.",
        0,
    )


def test_a_checkout_is_one_summary_that_says_so(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        flags = ("-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *flags, *words], cwd=tmp_path, check=True, timeout=60, capture_output=True)

    git("init", "-q", "-b", "main")
    for number in range(30):
        (tmp_path / f"f{number}.txt").write_text("one")
    git("add", ".")
    git("commit", "-qm", "one")
    git("checkout", "-qb", "other")
    for number in range(30):
        (tmp_path / f"f{number}.txt").write_text("two!")
    git("commit", "-qam", "two")

    async def play() -> object:
        async with following(FileWatcher(tmp_path)) as watcher:
            await asyncio.to_thread(git, "checkout", "-q", "main")
            return await watcher.next()

    told = asyncio.run(play())
    assert isinstance(told, Told)
    assert told.body.splitlines()[0] == (
        "30 files changed on disk at once (30 edited). The VCS moved to another commit."
    )


def test_fifty_thousand_files_that_all_change_are_one_bounded_summary(tmp_path: Path) -> None:
    folders = [tmp_path / f"d{number}" for number in range(100)]
    for folder in folders:
        folder.mkdir()
        for number in range(500):
            (folder / f"f{number}").touch()

    def touch_all() -> None:
        for folder in folders:
            for number in range(500):
                os.utime(folder / f"f{number}", (1, 1))

    async def play() -> list[object]:
        async with following(FileWatcher(tmp_path)) as watcher:
            await asyncio.to_thread(touch_all)
            news = [await watcher.next(), await watcher.next()]
            assert watcher.news.empty()
            return news

    told, noticed = asyncio.run(play())
    assert isinstance(told, Told)
    assert told.body.splitlines()[0] == "50,000 files changed on disk at once (50,000 edited)."
    assert len(told.body) < 1_000
    assert len(told.uris) == 200
    assert noticed == Noticed(
        "resources_left_out",
        "50000 files changed; 200 are announced as updated resources",
        {"left_out": 49_800},
    )


def test_the_number_of_known_files_is_bounded_and_news_still_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree_module, "MOST_FILES", 3)
    for number in range(10):
        (tmp_path / f"f{number}").write_text("x")

    async def play() -> set[str]:
        async with following(FileWatcher(tmp_path)) as watcher:
            (tmp_path / "f1").write_text("xx")
            (tmp_path / "f9").write_text("xx")
            return {(await watcher.next()).dedupe_key, (await watcher.next()).dedupe_key}

    assert asyncio.run(play()) == {"file_changed:f1", "file_changed:f9"}


def test_only_what_matches_the_patterns_is_told(tmp_path: Path) -> None:
    async def play() -> object:
        async with following(FileWatcher(tmp_path, patterns=("*.py", "!*_gen.py"))) as watcher:
            for name in ("a.txt", "b_gen.py", "c.py"):
                (tmp_path / name).write_text("x")
            return (await watcher.next()).dedupe_key, watcher.news.qsize()

    assert asyncio.run(play()) == ("file_changed:c.py", 0)


def test_polling_sees_changes_too(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")

    async def play() -> object:
        async with following(FileWatcher(tmp_path, poll=True)) as watcher:
            os.utime(tmp_path / "a.txt", (4e9, 4e9))  # polling tells only later seconds apart
            return (await watcher.next()).dedupe_key

    assert asyncio.run(play()) == "file_changed:a.txt"


def test_a_watcher_can_be_followed_again(tmp_path: Path) -> None:
    async def play() -> list[str]:
        watcher = FileWatcher(tmp_path)
        keys = []
        for name in ("a.txt", "b.txt"):
            async with following(watcher) as followed:
                (tmp_path / name).write_text("x")
                keys.append((await followed.next()).dedupe_key)
        return keys

    assert asyncio.run(play()) == ["file_changed:a.txt", "file_changed:b.txt"]


def test_a_root_that_is_no_folder_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(CallerError, match=r"`root` '.*gone' is not a folder"):
        FileWatcher(tmp_path / "gone")


def test_without_watchfiles_the_fix_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "watchfiles._rust_notify", None)

    async def play() -> None:
        async with following(FileWatcher(tmp_path)):
            pass

    with pytest.raises(CallerError, match=r"pip install 'tidings\[watch\]'"):
        asyncio.run(play())
