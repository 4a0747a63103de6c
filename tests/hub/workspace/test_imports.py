"""Heavy parts are loaded when a workspace needs them, and not before."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("mcp", "mcp_types", "watchfiles", "httpx2", "pydantic")
LIGHT = ("typer", "rich", "msgspec", "asyncio", "starlette", "uvicorn")


def loaded(module: str, names: tuple[str, ...], then: str = "pass") -> set[str]:
    script = f"import sys, {module}; {then}; print(*[name for name in {names!r} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "module", ["tidings.hub.workspace.attaching", "tidings.cli.up", "tidings.cli.doctor"]
)
def test_a_hub_without_workspaces_loads_no_watcher_and_no_sdk(module: str) -> None:
    assert loaded(module, HEAVY) == set()


def test_completing_ids_loads_no_command_line() -> None:
    module = "tidings.cli.completing"
    assert loaded(module, LIGHT, then=f"{module}.candidates(['pending', '--session'], '')") == set()
