"""Searching and listing a real folder, in a process that can be killed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agent.tools.calling import Desk
from tidings.agent.port import Outcome
from tidings.agent.tools import searching
from tidings.agent.tools.glob import alternatives, compile_glob, is_ignored, read_rules

FILES = {
    ".gitignore": "build/\n*.log\n!keep.log\n/top.txt\n# a comment\n\n",
    "app.py": "import os\nprint('TODO: one')\n",
    "src/lib.ts": "// TODO: two\n",
    "src/deep/view.tsx": "nothing\n",
    "src/.gitignore": "gen*\n",
    "src/generated.py": "TODO\n",
    "src/top.txt": "TODO: in src\n",
    "top.txt": "TODO\n",
    "build/out.py": "TODO\n",
    "x.log": "TODO\n",
    "keep.log": "TODO: kept\n",
    ".git/config": "TODO\n",
}
VISIBLE = [
    ".gitignore", "app.py", "keep.log", "src/.gitignore", "src/lib.ts", "src/top.txt", "src/deep/view.tsx",
]  # fmt: skip


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, content in FILES.items():
        path = tmp_path / "w" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return tmp_path / "w"


def lines(outcome: Outcome) -> list[str]:
    return outcome.text.split("\n")


def test_files_are_listed_without_what_is_ignored(root: Path) -> None:
    assert lines(Desk(root)("list_files")) == [*VISIBLE, "[7 files]"]


def test_a_search_gives_path_line_and_text(root: Path) -> None:
    assert Desk(root)("search", pattern="TODO: \\w+") == Outcome(
        text="app.py:2: print('TODO: one')\nkeep.log:1: TODO: kept\nsrc/lib.ts:1: // TODO: two\n"
        "src/top.txt:1: TODO: in src\n[4 matching lines]"
    )


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ({"glob": "*.py"}, ["app.py"]),
        ({"glob": "*.{ts,tsx}"}, ["src/lib.ts", "src/deep/view.tsx"]),
        ({"glob": "src/**/*.tsx"}, ["src/deep/view.tsx"]),
        ({"glob": "src/*.ts*"}, ["src/lib.ts"]),
        ({"path": "src", "glob": "deep/*"}, ["src/deep/view.tsx"]),
        ({"path": "src/deep"}, ["src/deep/view.tsx"]),
        ({"path": "src/lib.ts"}, ["src/lib.ts"]),
        ({"path": "build"}, ["build/out.py"]),
        ({"path": "src", "glob": "gen*"}, []),
    ],
)
def test_a_path_and_a_glob_narrow_the_files(
    root: Path, arguments: dict[str, str], found: list[str]
) -> None:
    assert lines(Desk(root)("list_files", **arguments)) == [*found, f"[{len(found)} files]"]


def test_more_than_asked_for_is_flagged(root: Path) -> None:
    (root / "many.txt").write_text("hit\n" * 10)
    given = Desk(root)("search", pattern="hit", max=2)
    assert lines(given) == [
        "many.txt:1: hit",
        "many.txt:2: hit",
        "[stopped at 2; there is more: narrow the search, or raise max]",
    ]
    assert given.truncated
    assert not Desk(root)("search", pattern="hit", max=10).truncated


def test_a_bad_pattern_and_a_missing_path_say_so(root: Path) -> None:
    desk = Desk(root)
    bad = desk("search", pattern="(")
    assert (bad.ok, bad.text) == (
        False,
        "pattern '(' is not a regular expression: missing ), unterminated subpattern at position 0",
    )
    assert desk("list_files", path="none") == Outcome(
        text="there is no file or folder 'none'; list_files shows what there is", ok=False
    )


def test_a_pattern_that_would_take_for_ever_is_killed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "TIMEOUT", 0.5)
    (root / "aaa.txt").write_text("a" * 60 + "!")
    given = Desk(root)("search", pattern="(a+)+$")
    assert (given.ok, given.text) == (
        False,
        "it was not done within 0.5 seconds; use a simpler pattern or a smaller path",
    )


def test_odd_files_are_survived(root: Path) -> None:
    (root / "bin").write_bytes(b"TODO\0")
    (root / "latin").write_bytes(b"caf\xe9 odd\n")
    (root / "long").write_text("x" * 1000 + " odd " + "y" * 1000)
    with open(os.fsencode(root) + b"/na\xffme", "w") as file:
        file.write("odd\n")
    (root / "two\nlines").write_text("odd\n")
    (root / "gone").symlink_to("nowhere")
    (root / "out").symlink_to("../secret")
    (root.parent / "secret").write_text("odd secret\n")
    os.mkfifo(root / "pipe")
    (root / "huge").write_bytes(b"odd\n" * 1_500_000)
    given = lines(Desk(root)("search", pattern="odd"))
    assert given == [
        "latin:1: caf\ufffd odd",
        f"long:1: … {'x' * 99} odd {'y' * 196} …",
        "'na\\udcffme':1: odd",
        "'two\\nlines':1: odd",
        "[4 matching lines; 1 too large or unreadable]",
    ]


@pytest.mark.parametrize("pattern", ["[[a]", "a{99999999999}", "(?P<n>"])
def test_odd_patterns_give_one_clear_line(root: Path, pattern: str) -> None:
    assert len(lines(Desk(root)("search", pattern=pattern, path="src/deep"))) == 1


def test_the_search_imports_nothing_from_the_folder_it_searches(root: Path) -> None:
    (root / "json.py").write_text("raise SystemExit('imported')")
    (root / "tidings").mkdir()
    (root / "tidings" / "__init__.py").write_text("raise SystemExit('imported')")
    assert Desk(root)("list_files", path="src/deep").ok


@pytest.mark.parametrize(
    ("rules", "path", "is_folder", "ignored"),
    [
        ("*.o", "a/b.o", False, True),
        ("/a.o", "b/a.o", False, False),
        ("/a.o", "a.o", False, True),
        ("doc/*.txt", "doc/a.txt", False, True),
        ("doc/*.txt", "doc/x/a.txt", False, False),
        ("doc/**", "doc/x/a.txt", False, True),
        ("**/x", "a/b/x", False, True),
        ("a/**/z", "a/z", False, True),
        ("out/", "out", False, False),
        ("out/", "out", True, True),
        ("*.o\n!b.o", "b.o", False, False),
        ("!b.o\n*.o", "b.o", False, True),
        ("f[0-9]", "f7", False, True),
        ("f[!0-9]", "f7", False, False),
        ("f[!0-9]", "fx", False, True),
        ("f?", "f/", False, False),
        ("a[", "a[", False, False),
        (r"\#x", "#x", False, True),
        ("/", "a", True, False),
    ],
)
def test_ignore_rules_mean_what_they_mean_to_git(
    rules: str, path: str, is_folder: bool, ignored: bool
) -> None:
    assert is_ignored(list(read_rules(rules, "")), path, is_folder) is ignored


def test_a_nested_ignore_file_speaks_of_its_own_folder() -> None:
    rules = list(read_rules("/a", "sub"))
    assert [is_ignored(rules, path, False) for path in ("sub/a", "a", "subs/a", "sub/x/a")] == [
        True, False, False, False,
    ]  # fmt: skip


def test_braces_are_choices() -> None:
    assert sorted(alternatives("a{b,c}{d,e}")) == ["abd", "abe", "acd", "ace"]
    assert alternatives("{a}") == ["{a}"]
    assert len(alternatives("{a,b}" * 30)) <= 65


@given(st.text(alphabet="ab*?[]!-{},/\\.^", max_size=12))
def test_every_glob_compiles(glob: str) -> None:
    for each in alternatives(glob):
        compile_glob(each).fullmatch("a/b")


@given(st.text(alphabet="ab.-_+()", min_size=1, max_size=8))
def test_a_name_without_wildcards_matches_itself_at_any_depth(name: str) -> None:
    pattern = compile_glob(name)
    assert pattern.fullmatch(name)
    assert pattern.fullmatch(f"x/y/{name}")
    assert not pattern.fullmatch(f"{name}x")
