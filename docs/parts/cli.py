"""The commands, read from the Typer app: for cli.md."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from enum import Enum
from typing import Any

import typer

from docs.parts.markdown import code, fenced, table
from tidings.cli.codes import CODES
from tidings.cli.main import app


def cli() -> str:
    """Every command with its arguments, options and examples."""
    return "\n\n".join(_command(path, command) for path, command in commands())


def exit_codes() -> str:
    """Every exit code, what it means, and when it is given."""
    return table(("code", "meaning", "when"), [(code, *words) for code, words in CODES.items()])


def commands() -> Iterator[tuple[str, Any]]:
    """Every command with its path, `tidings` itself first."""
    return _below(typer.main.get_command(app), "tidings")


def _below(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    yield path, command
    for name in command.list_commands(None) if hasattr(command, "list_commands") else ():
        yield from _below(command.get_command(None, name), f"{path} {name}")


def _command(path: str, command: Any) -> str:
    rows = [_parameter(parameter) for parameter in command.params]
    parts = [f"## {path}", inspect.cleandoc(command.help or ""), fenced(_usage(path, command), "text")]
    parts += [table(("argument or option", "default", "meaning"), rows)] if rows else []
    examples = [line for line in (command.epilog or "").splitlines() if line.startswith("tidings ")]
    parts += [fenced("\n".join(examples), "console")] if examples else []
    return "\n\n".join(part for part in parts if part)


def _usage(path: str, command: Any) -> str:
    words = [path, "[OPTIONS]"] if any(not _is_argument(p) for p in command.params) else [path]
    words += [_metavar(p) for p in command.params if _is_argument(p)]
    words += ["COMMAND …"] if hasattr(command, "list_commands") else []
    return " ".join(words)


def _is_argument(parameter: Any) -> bool:
    return bool(parameter.param_type_name == "argument")


def _metavar(parameter: Any) -> str:
    name = f"{parameter.metavar or parameter.name.upper()}{'…' if parameter.nargs == -1 else ''}"
    return name if parameter.required else f"[{name}]"


def _parameter(parameter: Any) -> tuple[str, str, str]:
    value = "" if _is_argument(parameter) or not parameter.metavar else f" {parameter.metavar}"
    names = [_metavar(parameter)] if _is_argument(parameter) else [f"{n}{value}" for n in parameter.opts]
    default, meaning = parameter.default, parameter.help or ""
    if isinstance(default, Enum):
        meaning += f" One of {', '.join(str(choice.value) for choice in type(default))}."
        default = default.value
    shown = "" if default in (None, False, "") or callable(default) else f"`{default}`"
    return code(names), shown, " ".join(meaning.split())
