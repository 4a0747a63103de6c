"""What the package needs and why: for dependencies.md."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec

from docs.parts.markdown import code, table

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"


REASONS: dict[str, str] = {
    "msgspec": "values, JSON, TOML of routes: frozen structs that are quick to make, compare and encode; "
    "validation and decoding in one step",
    "typer": "the command line: options from type annotations; only `cli/` imports it",
    "rich": "tables and colour in the terminal, and Typer's help; only `cli/` imports it",
    "acp": "`tidings acp` and `tidings.acp.Host`: the official SDK, so that every line has its types",
    "mcp": "servers that push and hosts that hear: the official SDK, conformance included",
    "anthropic": "`anthropic/…` models",
    "openai": "`openai/…`, `openai-responses/…` and `openai-compatible/…` models",
    "gemini": "`gemini/…` models",
    "watch": "`tidings watch`: the system's own file notification, bursts coalesced",
    "hub": "the local hub: its HTTP API and live feed",
    "recall": "a quicker index for namespaces of more than 10,000 facts",
    "memory": "similarity in `tidings memory`, offline",
    "claude": "`tidings.hub.agent_sdk`: programs on the Claude Agent SDK hear from the hub. It brings "
    "Claude Code itself, 160 MB, and so is not part of `all`",
    "all": "all of the above but `claude`",
}


def dependencies() -> str:
    """What the package needs, each with its reason."""
    needed = [_requirement(text) for text in _project()["dependencies"]]
    return table(("package", "versions", "for"), [(f"`{n}`", v, REASONS[n]) for n, v in needed])


def extras() -> str:
    """The declared extras, without the one for development."""
    declared = _project()["optional-dependencies"]
    rows = [(f"`{n}`", _brought(n, texts), REASONS[n]) for n, texts in declared.items() if n != "dev"]
    return table(("extra", "brings", "for"), rows)


def _brought(extra: str, texts: list[str]) -> str:
    return "" if extra == "all" else code(_requirement(text)[0] for text in texts)


def _project() -> dict[str, Any]:
    pyproject = msgspec.toml.decode(PYPROJECT.read_bytes())
    return dict(pyproject["project"])


def _requirement(text: str) -> tuple[str, str]:
    """Its name and its versions."""
    name = re.match(r"[\w.-]+", text)
    assert name is not None, text
    return name[0], text[name.end() :]
