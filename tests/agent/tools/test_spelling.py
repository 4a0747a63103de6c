"""One file in many spellings: no deny is circumvented, and no allow covers more than it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agent.tools.calling import call
from tidings.agent.tools import spelling
from tidings.agent.tools.rules import Rule, matches

NAME = "work [1]"
"""The workspace has a name that would be a wildcard in a pattern."""


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """home/work [1]/{secrets,src,open}/key, and links into, out of and around them."""
    home = tmp_path / "home"
    work = home / NAME
    for folder in ("secrets", "src", "open"):
        (work / folder).mkdir(parents=True)
        (work / folder / "key").write_text(folder)
    (work / "alias").symlink_to("secrets")
    (work / "to-key").symlink_to("secrets/key")
    (work / "src" / "out").symlink_to(work / "secrets" / "key")
    (work / "deep").symlink_to("open/nested")
    (work / "open" / "nested").mkdir()
    (tmp_path / "elsewhere").symlink_to(work)
    monkeypatch.setenv("HOME", str(home))
    return work


def spellings(work: Path, folder: str) -> list[str]:
    """Ways to say `folder`/key without links inside the workspace."""
    elsewhere = work.parents[1] / "elsewhere"
    return [
        f"{folder}/key",
        f"./{folder}/key",
        f"{folder}//key",
        f"src/../{folder}/key",
        f"../{NAME}/{folder}/key",
        f"{work}/{folder}/key",
        f"{work}/./src/../{folder}/key",
        f"/{work}/{folder}/key",
        f"{elsewhere}/{folder}/key",
        f"~/{NAME}/{folder}/key",
    ]


def patterns(work: Path, folder: str) -> list[str]:
    """Absolute ways to write a rule for what is in `folder`."""
    written = str(work).replace("[", "[[]")
    return [
        f"{written}/{folder}/*",
        f"{written}/./src/../{folder}/*",
        f"{written.replace(NAME.replace('[', '[[]'), '*')}/{folder}/*",
        f"~/{NAME.replace('[', '[[]')}/{folder}/*",
        f"{work.parents[1]}/elsewhere/{folder}/k?y",
        f"{work.parents[1]}/elsewhere/{folder}/key",
    ]


def test_a_deny_holds_for_every_spelling_of_a_file_and_every_spelling_of_the_rule(work: Path) -> None:
    links = ["alias/key", "to-key", "src/out", f"{work}/alias/key", f"~/{NAME}/to-key"]
    missed = [
        (pattern, path)
        for pattern in ["secrets/*", "./secrets/*", *patterns(work, "secrets")]
        for path in (*spellings(work, "secrets"), *links)
        if not matches(Rule("deny", "*", {"path": pattern}), call("act", path=path), work)
    ]
    assert missed == []


def test_a_deny_stops_no_other_file(work: Path) -> None:
    stopped = [
        (pattern, path)
        for pattern in ["secrets/*", *patterns(work, "secrets")]
        for path in (*spellings(work, "src"), "secrets-not/key", "deep/../key")
        if matches(Rule("deny", "*", {"path": pattern}), call("act", path=path), work)
    ]
    assert stopped == []


def test_dots_behind_a_link_are_followed_as_the_system_does_it(work: Path) -> None:
    rule = Rule("deny", "*", {"path": f"~/{NAME.replace('[', '[[]')}/open/key"})
    assert matches(rule, call("act", path="deep/../key"), work)
    assert not matches(
        Rule("allow", "*", {"path": "/*/src/*"}), call("act", path="src/../deep/../key"), work
    )


def test_without_a_workspace_a_deny_takes_the_current_directory(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(work)
    for pattern in ["secrets/*", *patterns(work, "secrets")]:
        rule = Rule("deny", "*", {"path": pattern})
        assert all(matches(rule, call("act", path=path)) for path in spellings(work, "secrets"))


def test_an_allow_for_an_absolute_path_covers_every_spelling_of_its_files(work: Path) -> None:
    paths = [path for path in spellings(work, "open") if " " not in path or path.startswith(("/", "~"))]
    missed = [
        (pattern, path)
        for pattern in patterns(work, "open")
        for path in paths
        if not matches(Rule("allow", "*", {"path": pattern}), call("act", path=path), work)
    ]
    assert missed == []


@pytest.mark.parametrize("path", ["src/out", "src/../secrets/key", "~/src/key", "/etc/hosts", "key"])
def test_an_allow_covers_no_file_that_only_looks_like_its_own(path: str, work: Path) -> None:
    for pattern in ["src/*", *patterns(work, "src")]:
        assert not matches(Rule("allow", "*", {"path": pattern}), call("act", path=path), work), pattern


def test_an_allow_knows_no_relative_file_without_a_workspace(work: Path, monkeypatch) -> None:
    monkeypatch.chdir(work)
    rule = Rule("allow", "*", {"path": patterns(work, "src")[0]})
    assert not matches(rule, call("act", path="src/key"))
    assert matches(rule, call("act", path=f"{work}/src/key"))


@pytest.mark.parametrize(
    ("argument", "text"), [("command", "make"), ("command", "rm -rf x"), ("line", "rm -rf x")]
)
def test_an_allow_for_a_folder_lets_no_command_run_that_is_no_file_of_it(
    argument: str, text: str, work: Path
) -> None:
    rule = Rule("allow", "*", {argument: f"{str(work).replace('[', '[[]')}/*"})
    assert not matches(rule, call("act", **{argument: text}), work)
    assert matches(rule, call("act", **{argument: f"{work}/src/run"}), work)


def test_a_folder_named_like_a_home_is_looked_at_too(work: Path) -> None:
    rule = Rule("allow", "*", {"path": "~/*"})
    assert matches(rule, call("act", path="~/notes"), work)
    (work / "~").symlink_to("/etc")
    assert not matches(rule, call("act", path="~/notes"), work)
    assert matches(Rule("deny", "*", {"path": "/etc/*"}), call("act", path="~/notes"), work)


@pytest.mark.parametrize("text", ["a\0b", "x" * (spelling.LONGEST + 1), "\udfff"])
def test_what_can_be_no_path_is_compared_as_text(text: str, work: Path) -> None:
    assert matches(Rule("deny", "*", {"path": "*"}), call("act", path=text), work)
    assert not matches(Rule("deny", "*", {"path": "secrets/*"}), call("act", path=text), work)
