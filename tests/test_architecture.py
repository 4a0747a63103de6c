"""Imports point one way, and what must be pure is pure. Read from the sources, nothing is run."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SRC = Path(__file__).parent.parent / "src" / "tidings"

LAYERS = [
    {"version", "errors"},
    {"core"},
    {"rendering"},
    {"log"},
    {"shell"},
    {"recall"},
    {"agent"},
    {"diagnostics"},
    {"bridge"},
    {"acp", "hosts", "mcp", "memory", "watchers"},
    {"hub"},
    {"cli"},
    {"testing"},
]
"""Each layer may import the ones above it; packages beside each other never do."""

PURE = ("core", "rendering", "hosts")
IMPURE_MODULES = {
    "asyncio", "contextvars", "datetime", "logging", "os", "random", "secrets", "socket", "sqlite3",
    "subprocess", "sys", "time", "uuid",
}  # fmt: skip
HEAVY_MODULES = {"pydantic", "mcp", "mcp_types", "acp", "numpy", "typer", "rich", "starlette", "uvicorn"}
ADAPTERS = {
    "acp": {"acp", "pydantic"},
    "bridge": {"uvicorn"},
    "mcp": {"mcp", "mcp_types", "pydantic", "starlette", "uvicorn"},
    "memory": {"numpy"},
    "hub": {"starlette", "uvicorn"},
    "cli": HEAVY_MODULES,
    "testing": {"mcp", "mcp_types"},
}
"""The heavy parts that each adapter may import."""
MAX_LINES = 400

FILES = sorted(SRC.rglob("*.py"))


def package(path: Path) -> str:
    return path.relative_to(SRC).parts[0].removesuffix(".py")


def imports(path: Path) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} relative import"
            found.append((node.lineno, node.module or ""))
    return found


def layer_of(name: str) -> int:
    return next(number for number, layer in enumerate(LAYERS) if name in layer)


def label(path: Path) -> str:
    return str(path.relative_to(SRC))


@pytest.mark.parametrize("path", FILES, ids=label)
def test_imports_point_upward(path: Path) -> None:
    home = package(path)
    if home == "__init__":
        return
    for line, name in imports(path):
        parts = name.split(".")
        if parts[0] == "tidings" and len(parts) > 1:
            above = layer_of(parts[1]) < layer_of(home)
            assert above or parts[1] == home, f"{path}:{line} imports {name}"


@pytest.mark.parametrize("path", [p for p in FILES if package(p) in PURE], ids=label)
def test_the_pure_packages_read_no_clock_no_chance_and_no_surroundings(path: Path) -> None:
    used = {name.split(".")[0] for _, name in imports(path)}
    assert used & IMPURE_MODULES == set()
    tree = ast.parse(path.read_text())
    awaits = (ast.AsyncFunctionDef, ast.Await, ast.AsyncFor, ast.AsyncWith)
    assert not [node for node in ast.walk(tree) if isinstance(node, awaits)]


@pytest.mark.parametrize("path", FILES, ids=label)
def test_heavy_parts_stay_in_their_adapters(path: Path) -> None:
    used = {name.split(".")[0] for _, name in imports(path)}
    assert used & HEAVY_MODULES <= ADAPTERS.get(package(path), set())


@pytest.mark.parametrize("path", FILES, ids=label)
def test_no_any_in_the_core(path: Path) -> None:
    if package(path) in PURE:
        names = {node.id for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Name)}
        assert "Any" not in names


@pytest.mark.parametrize("path", FILES, ids=label)
def test_modules_are_small_and_say_what_they_are(path: Path) -> None:
    text = path.read_text()
    assert text.count("\n") <= MAX_LINES
    assert ast.get_docstring(ast.parse(text))
