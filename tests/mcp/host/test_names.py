"""The public names of the host: loaded when used, typed, and all in the reference."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import tidings.mcp
from tidings.mcp.host.tally import REASONS

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "reference" / "mcp-host.md"
HOST = [name for name, home in tidings.mcp._MODULE_OF.items() if not home.startswith("emit")]


def test_importing_the_package_and_the_values_loads_no_sdk() -> None:
    code = (
        "import sys, tidings.mcp as m\n"
        "m.Server(name='a', url='u'); m.Backoff(); m.Deadlines(); m.from_acp; m.Rule; m.Budget\n"
        "print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert loaded & {"mcp", "mcp_types", "pydantic", "httpx2"} == set()


def test_without_the_sdk_the_fix_is_named() -> None:
    code = (
        "import sys; sys.modules['mcp'] = None\n"
        "import tidings.mcp\n"
        "try: tidings.mcp.Servers\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "tidings.mcp.Servers needs the package mcp: pip install 'tidings[mcp]'\n"


def test_type_checkers_see_the_same_names_as_the_interpreter() -> None:
    tree = ast.parse(Path(tidings.mcp.__file__).read_text())
    guarded = next(node for node in tree.body if isinstance(node, ast.If))
    typed = {
        alias.name: node.module.removeprefix("tidings.mcp.")
        for node in guarded.body
        if isinstance(node, ast.ImportFrom) and node.module is not None
        for alias in node.names
    }
    assert typed == tidings.mcp._MODULE_OF
    assert [name for name in tidings.mcp.__all__ if not hasattr(tidings.mcp, name)] == []


def test_every_name_reason_and_code_of_the_host_is_in_the_reference() -> None:
    page = PAGE.read_text()
    assert [name for name in HOST if f"`{name}" not in page] == []
    assert [reason for reason in REASONS if f"`{reason}`" not in page] == []
    sources = (Path(tidings.mcp.__file__).parent / "host").glob("*.py")
    codes = {code for path in sources for code in re.findall(r'"(mcp_\w+)"', path.read_text())}
    assert [code for code in sorted(codes) if f"`{code}`" not in page] == []
