"""The public names of `tidings.acp`: complete, typed, and cheap until the SDK is needed."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tidings.acp


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_listed_name_loads() -> None:
    assert [name for name in tidings.acp.__all__ if not hasattr(tidings.acp, name)] == []
    assert dir(tidings.acp) == sorted(tidings.acp.__all__)
    assert not hasattr(tidings.acp, "no_such_name")


def test_type_checkers_see_the_same_names_as_the_interpreter() -> None:
    tree = ast.parse(Path(tidings.acp.__file__).read_text())
    guarded = next(node for node in tree.body if isinstance(node, ast.If))
    typed = {
        alias.name: node.module.removeprefix("tidings.acp.")
        for node in guarded.body
        if isinstance(node, ast.ImportFrom) and node.module is not None
        for alias in node.names
    }
    assert typed == tidings.acp._MODULE_OF


def test_importing_the_package_loads_no_sdk() -> None:
    code = "import sys, tidings.acp; tidings.acp.Client(); tidings.acp.Emitted; print(*sys.modules)"
    assert {name.partition(".")[0] for name in run(code).split()} & {"acp", "pydantic"} == set()


def test_without_the_sdk_the_fix_is_named() -> None:
    code = (
        "import sys; sys.modules['acp'] = None\n"
        "import tidings.acp\n"
        "try: tidings.acp.Host\n"
        "except ImportError as error: print(error)"
    )
    assert run(code) == (
        "tidings.acp.Host needs the package agent-client-protocol: pip install 'tidings[acp]'\n"
    )


@pytest.mark.parametrize("name", ["Host", "Session"])
def test_what_stands_on_the_sdk_is_there_when_asked_for(name: str) -> None:
    assert getattr(tidings.acp, name).__name__ == name


def test_every_kind_of_note_is_in_the_reference() -> None:
    sources = (Path(tidings.acp.__file__).parent / "host").glob("*.py")
    written = {
        kind for path in sources for kind in re.findall(r'(?:add|Note)\(\s*"(\w+)"', path.read_text())
    }
    page = (Path(__file__).parents[3] / "docs" / "reference" / "acp-host.md").read_text()
    listed = set(re.findall(r"`(\w+)`", page.partition("## Notes")[2]))
    assert written == listed


def test_every_public_name_is_in_the_reference() -> None:
    page = (Path(__file__).parents[3] / "docs" / "reference" / "acp-host.md").read_text()
    assert [name for name in tidings.acp.__all__ if not re.search(rf"\b{name}\b", page)] == []
