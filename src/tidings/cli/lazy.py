"""Command groups that import a command when it is used, and that turn errors into exit codes.

A group is a table from command name to `module:name`, a Typer app or a plain function. So
`tidings version` never loads SQLite or asyncio, and adding a command is adding a line.
"""

from __future__ import annotations

import inspect
import os
import sys
from contextlib import suppress
from importlib import import_module
from io import UnsupportedOperation
from typing import Any, ClassVar

import typer
from typer.core import TyperGroup

from tidings.cli.codes import BAD_NEWS as BAD_NEWS
from tidings.cli.codes import WRONG_QUESTION as WRONG_QUESTION
from tidings.errors import LogCorruptError, TidingsError


class LazyGroup(TyperGroup):
    """A group whose commands are imported when they are needed."""

    homes: ClassVar[dict[str, str]] = {}

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = dict.fromkeys(self.homes)  # type: ignore[assignment]  # for "did you mean"

    def list_commands(self, ctx: object) -> list[str]:  # noqa: ARG002 the base class decides
        """The names, in the order of the table."""
        return list(self.homes)

    def get_command(self, ctx: object, cmd_name: str) -> Any:  # noqa: ARG002 the base class decides
        """The command of that name, loaded now; None if there is none."""
        if cmd_name not in self.homes:
            return None
        command = typer.main.get_command(_load(self.homes[cmd_name]))
        command.name = cmd_name
        command.help = _flowing(command.help)
        return command

    def invoke(self, ctx: Any) -> Any:
        """Run the chosen command; what it raises on purpose becomes a line and an exit code."""
        try:
            try:
                return super().invoke(ctx)
            finally:
                sys.stdout.flush()
        except BrokenPipeError:
            _discard_stdout()
            raise typer.Exit(0) from None
        except TidingsError as error:
            from tidings.diagnostics.visible import visible

            typer.echo(f"tidings: {visible(str(error))}", err=True)
            code = BAD_NEWS if isinstance(error, LogCorruptError) else WRONG_QUESTION
            raise typer.Exit(code) from None


def _flowing(help: str | None) -> str | None:
    """The help with its paragraphs on one line each, to be broken where the terminal ends."""
    if help is None:
        return None
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in inspect.cleandoc(help).split("\n\n"))


def lazy_app(homes: dict[str, str], help: str) -> typer.Typer:
    """A Typer app over a table of lazily imported commands."""
    group = type("Group", (LazyGroup,), {"homes": homes})
    return typer.Typer(
        cls=group,
        help=help,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def command_app() -> typer.Typer:
    """A Typer app for a module that is one command."""
    return typer.Typer(
        add_completion=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def _load(home: str) -> typer.Typer:
    """The app at `module:name`; a plain function becomes one."""
    module, _, name = home.partition(":")
    found = getattr(import_module(module), name)
    if isinstance(found, typer.Typer):
        return found
    single = command_app()
    single.command()(found)
    return single


def _discard_stdout() -> None:
    """Nobody reads any more: what is still buffered must not raise at exit."""
    with suppress(OSError, UnsupportedOperation, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
