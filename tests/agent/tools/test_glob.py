"""Path patterns mean here what they mean to git: the same lines, the same names, asked both ways."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

from tidings.agent.tools.glob import compile_glob, is_ignored, read_rules

LINES = (
    "[^a]", "[!a]", "[^a-c]x", "[a-c]", "[c-a]", "[]a]", "[!]a]", "[a-]", "[-a]", "[\\]]", "[a", "a[",
    "[]", "[[:alpha:]]", "[[:digit:]]x", "[[:nothing:]]", "[[:alpha]", "[a[:digit:]b]", "a[/]b", "a[^b]c",
    "tab\t", "blank ", "blank\\ ", "two  ", "tab \t", "a\r", "\\a", "\\", "a\\", "\\*", "\\!a", "!a",
    "#a", "\\#a", " a", "*", "**", "***", "?", "a*", "*a", "*.log", "a?b", "a/b", "/a", "a/", "/a/",
    "a//b", "a/*", "a/**", "**/a", "**/a/b", "a/**/b", "a/***/b", "/**", "/**/b", "**/**/b", "*/b", "?/b",
    "a*b*c", "a**b", "x/a**b", "a/b/**/c/**/d", "**/a/**/a/**/c", "\\a/b", "a\\/b", "{a,b}", "a.b", "+",
    "(a)", "$", "^",
)  # fmt: skip
NAMES = (
    "a", "b", "c", "d", "-", "]", "[", "[a", "a[", "^", "!a", "#a", " a", "ax", "dx", "1x", "a-", "abc",
    "adc", "tab", "tab\t", "tab ", "blank", "blank ", "two", "a ", "a\r", "\\", "\\a", "a\\", "*", "*a",
    "a*", "x.log", "a/b", "a/x/b", "a/x/y/b", "x/a", "x/a/b", "a/a/c", "a/x/a/y/c", "x/a/a/c", "a/b/c/d",
    "a/b/x/c/y/d", "a/c/d", "b/x", "a/b/c", "axbxc", "a/x", "x/axb", "x/ax/b", "axb", "ab", "{a,b}",
    "a.b", "aXb", "+", "(a)", "$",
)  # fmt: skip


def by_git(root: Path, lines: tuple[str, ...], names: tuple[str, ...]) -> set[tuple[str, str]]:
    """The pairs of line and name that git ignores; each line stands in a folder of its own."""
    subprocess.run(["git", "init", "-q"], cwd=root, check=True, timeout=60)
    for number, line in enumerate(lines):
        (root / f"n{number}").mkdir()
        (root / f"n{number}/.gitignore").write_bytes(f"{line}\n".encode())
    asked = {f"n{number}/{name}": (line, name) for number, line in enumerate(lines) for name in names}
    done = subprocess.run(
        ["git", "check-ignore", "--no-index", "-z", "--stdin"],
        cwd=root,
        input="\0".join(asked).encode(),
        stdout=subprocess.PIPE,
        timeout=60,
        check=False,
    )
    return {asked[path] for path in done.stdout.decode().split("\0") if path}


def by_us(lines: tuple[str, ...], names: tuple[str, ...]) -> set[tuple[str, str]]:
    return {(line, name) for line in lines for name in names if ignored(line, name)}


def ignored(line: str, path: str) -> bool:
    rules = list(read_rules(f"{line}\n", ""))
    folders = path.split("/")[:-1]
    above = ("/".join(folders[:depth]) for depth in range(1, len(folders) + 1))
    return any(is_ignored(rules, folder, True) for folder in above) or is_ignored(rules, path, False)


def test_every_kind_of_line_speaks_of_the_names_that_git_says(tmp_path: Path) -> None:
    found = by_us(LINES, NAMES)
    assert found == by_git(tmp_path, LINES, NAMES)
    assert len(found) > 300


def test_lines_made_by_lot_speak_of_the_names_that_git_says(tmp_path: Path) -> None:
    chance = random.Random(6)
    parts = [*"abx*?//[]\\.!#", "**/", "/**/", "[ab]", "[^a]", "[!b]"]
    drawn = {"".join(chance.choices(parts, k=chance.randint(1, 6))) for _ in range(400)}
    lines = tuple(sorted(line for line in drawn if "***" not in line and not is_of_any_depth_to_git(line)))
    found = by_us(lines, NAMES)
    assert found == by_git(tmp_path, lines, NAMES)
    assert len(lines) > 250
    assert len(found) > 500


def is_of_any_depth_to_git(line: str) -> bool:
    """Whether `**/` follows letters without a wildcard before it: the one reading that we do not share."""
    before, found, _ = line.removeprefix("!").partition("**/")
    return bool(found and before) and not before.endswith("/") and not set(before) & set("*?[\\")


def test_a_byte_order_mark_and_line_ends_of_windows_are_no_part_of_a_rule() -> None:
    rules = list(read_rules("\ufeff*.log\r\n\x0b\r\nb\x85c\r\n", ""))
    said = {path: is_ignored(rules, path, False) for path in ("a.log", "\x0b", "b\x85c", "b")}
    assert said == {"a.log": True, "\x0b": True, "b\x85c": True, "b": False}


def test_a_pattern_meant_to_take_for_ever_does_not() -> None:
    for glob in (
        "*a" * 40 + "b",
        "**/a/" * 40 + "b",
        "[ab]*" * 40 + "c",
        "?*" * 60 + "z",
        "*/" * 60 + "*a" * 60,
    ):
        for path in ("a" * 250, "a/" * 500 + "c", ("a" * 100 + "/") * 20 + "c"):
            assert compile_glob(glob).fullmatch(path) is None
