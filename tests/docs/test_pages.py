"""The pages hold: their Python runs, their links lead somewhere, and all can be reached.

Each page runs in a process of its own, in an empty folder. Its ```python blocks share one
namespace; a ```text output block right after one is what that block prints. ```python no-run
blocks are only compiled.
"""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

from docs.parts import cli

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
OTHERS = [
    path for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md") if (path := ROOT / name).exists()
]
DEADLINE = 30

_FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"(?:^|^\$ |`)(tidings (?:log )?[a-z]+)(?=[ `\n])", re.MULTILINE)
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\((?P<target>[^)\s]+)\)")

RUNNER = """
import contextlib, io, json, sys
page, blocks = json.load(sys.stdin)
space, printed = {"__name__": "__main__"}, []
for line, code in blocks:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile("\\n" * line + code, page, "exec"), space)
    printed.append(out.getvalue())
json.dump(printed, sys.stdout)
"""


class Block(msgspec.Struct, frozen=True):
    """A Python block: the line before it, its code, what it should print if the page says so."""

    line: int
    code: str
    expected: str | None


def fences(page: str) -> list[tuple[int, str, str]]:
    """Line, info string and content of every fenced block."""
    return [
        (page.count("\n", 0, m.start("code")), m["info"].strip(), m["code"]) for m in _FENCE.finditer(page)
    ]


def python_blocks(page: str) -> list[Block]:
    """The blocks to run."""
    return [
        Block(line, code, after[2] if after[1] == "text output" else None)
        for (line, info, code), after in pairwise([*fences(page), (0, "", "")])
        if info == "python"
    ]


def run(name: str, blocks: list[Block], folder: Path) -> list[str]:
    """What each block prints."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", RUNNER],
        input=msgspec.json.encode((name, [(block.line, block.code) for block in blocks])),
        capture_output=True,
        cwd=folder,
        timeout=DEADLINE,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    printed: list[str] = msgspec.json.decode(done.stdout)
    return printed


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


RUNNABLE = [path for path in (*PAGES, *OTHERS) if python_blocks(path.read_text())]


@pytest.mark.parametrize("path", RUNNABLE, ids=name_of)
def test_the_python_of_a_page_runs_and_prints_what_the_page_says(path: Path, tmp_path: Path) -> None:
    blocks = python_blocks(path.read_text())
    printed = run(name_of(path), blocks, tmp_path)
    said = [(block.line, block.expected) for block in blocks if block.expected is not None]
    told = zip(blocks, printed, strict=True)
    assert said == [(block.line, out) for block, out in told if block.expected is not None]


@pytest.mark.parametrize("path", [*PAGES, *OTHERS], ids=name_of)
def test_the_python_that_is_only_shown_compiles(path: Path) -> None:
    for line, info, code in fences(path.read_text()):
        assert info in ("python", "python no-run") or not info.startswith("python"), f"line {line}: {info}"
        if info == "python no-run":
            compile("\n" * line + code, name_of(path), "exec")


@pytest.mark.parametrize("path", [*PAGES, *OTHERS], ids=name_of)
def test_every_relative_link_leads_to_a_file(path: Path) -> None:
    assert [target for target in links(path) if not target.exists()] == []


def test_every_page_can_be_reached_from_the_index() -> None:
    reached: set[Path] = set()
    waiting = [DOCS / "index.md"]
    while waiting:
        path = waiting.pop()
        if path not in reached:
            reached.add(path)
            waiting += [target for target in links(path) if target in PAGES]
    assert set(PAGES) - reached == set()


def links(path: Path) -> list[Path]:
    """The files that a page links to."""
    prose = _FENCE.sub("", path.read_text())
    targets = [m["target"].partition("#")[0] for m in _LINK.finditer(prose)]
    return [(path.parent / target).resolve() for target in targets if target and "://" not in target]


@pytest.mark.parametrize("path", [*PAGES, *OTHERS], ids=name_of)
def test_every_anchor_is_a_heading_of_its_page(path: Path) -> None:
    prose = _FENCE.sub("", path.read_text())
    for match in _LINK.finditer(prose):
        target, _, anchor = match["target"].partition("#")
        if anchor and "://" not in target:
            assert anchor in headings((path.parent / target).resolve() if target else path), match["target"]


@pytest.mark.parametrize("path", [*PAGES, *OTHERS], ids=name_of)
def test_every_command_that_a_page_names_exists(path: Path) -> None:
    named = {match[1] for match in _COMMAND.finditer(path.read_text())}
    assert named - commands() == set()


def commands() -> set[str]:
    """Every command, with its group's name in front."""
    return {command for command, _ in cli.commands()}


EXAMPLES = [path for path in sorted((ROOT / "examples").rglob("*.py")) if path.parent.name != "interop"]
"""Those that need nothing else; what needs a real agent is run by `make interop`."""


@pytest.mark.parametrize("path", EXAMPLES, ids=name_of)
def test_every_example_runs(path: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", path],
        capture_output=True,
        cwd=tmp_path,
        timeout=DEADLINE,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()


def headings(path: Path) -> set[str]:
    """The anchors of a page, as GitHub makes them."""
    titles = re.findall(r"^#+ (.+)$", _FENCE.sub("", path.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}
