"""The public names: listed, typed, loaded when first used."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import tidings.mcp as public


def test_every_listed_name_loads_and_no_other_is_there() -> None:
    assert [name for name in public.__all__ if not hasattr(public, name)] == []
    assert dir(public) == sorted(public.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'no_such_name'"):
        public.no_such_name  # noqa: B018


def test_type_checkers_see_the_same_names_as_the_interpreter() -> None:
    tree = ast.parse(Path(public.__file__).read_text())
    guarded = next(node for node in tree.body if isinstance(node, ast.If))
    typed = {
        alias.name: node.module.removeprefix("tidings.mcp.")
        for node in guarded.body
        if isinstance(node, ast.ImportFrom) and node.module is not None
        for alias in node.names
    }
    assert typed == public._MODULE_OF


def test_importing_the_package_and_its_pure_part_loads_no_sdk() -> None:
    code = "import sys, tidings.mcp, tidings.mcp.router, tidings.mcp.rules; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    loaded = {name.split(".")[0] for name in done.stdout.split()}
    assert loaded & {"mcp", "mcp_types", "pydantic", "starlette", "uvicorn", "anyio"} == set()


def test_a_missing_sdk_says_what_to_install() -> None:
    code = "import sys; sys.modules['mcp'] = None\nimport tidings.mcp\ntidings.mcp.Reminders"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert "tidings.mcp.Reminders needs the package mcp: pip install 'tidings[mcp]'" in done.stderr
