"""The names people import: complete, typed, cheap to load."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import tidings as td

PROMISED = {
    "Transcript", "scope", "inject_reminder", "clear_reminders", "reminder_event", "post_turn", "compact",
    "handoff", "receive_handoff", "render", "mark_fired", "route", "Route", "open_log", "active_log",
    "explain",
}  # fmt: skip


def test_every_promised_name_is_there_and_every_listed_name_loads() -> None:
    assert set(td.__all__) >= PROMISED
    assert [name for name in td.__all__ if not hasattr(td, name)] == []
    assert sorted(td.__all__) == dir(td)


def test_type_checkers_see_the_same_names_as_the_interpreter() -> None:
    tree = ast.parse(Path(td.__file__).read_text())
    guarded = next(n for n in tree.body if isinstance(n, ast.If))
    typed = {
        alias.name: node.module.removeprefix("tidings.")
        for node in guarded.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert typed == td._MODULE_OF


def test_a_missing_name_is_an_attribute_error() -> None:
    assert not hasattr(td, "no_such_name")


def test_importing_tidings_loads_nothing_heavy() -> None:
    code = "import sys, tidings as td; td.inject_reminder(td.Transcript(), body='b'); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    loaded = {name.split(".")[0] for name in done.stdout.split()}
    heavy = {"asyncio", "sqlite3", "typer", "rich", "pydantic", "mcp", "acp", "numpy", "socket", "difflib"}
    assert loaded & heavy == set()
