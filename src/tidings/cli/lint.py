"""`tidings lint`: find in Python sources what reminders would do wrong at run time."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tidings.cli.lazy import BAD_NEWS, command_app
from tidings.diagnostics.lint import FORMATS, lint_paths

app = command_app()
_EXAMPLES = """\
[bold]Examples[/bold]

tidings lint src

tidings lint agent.py hooks.py --format json

tidings lint . --format sarif > tidings.sarif

A comment [bold]# tidings: ignore\\[HARN-RMD-004][/bold] on a line switches that code off there.
"""


class Form(StrEnum):
    """How findings are written."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"
    GITHUB = "github"


@app.command(epilog=_EXAMPLES)
def lint(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH", help="Python files and directories.", show_default=False),
    ],
    form: Annotated[
        Form, typer.Option("--format", help="How to write the findings.", case_sensitive=False)
    ] = Form.TEXT,
) -> None:
    """Check Python sources for reminders that would be refused, or would surprise.

    The files are read, never imported or run.

    Exit code: 1 if anything was found, 0 if not, 2 if a path cannot be read.
    """
    findings = lint_paths(paths)
    typer.echo(FORMATS[form.value](findings), nl=False)
    if findings:
        raise typer.Exit(BAD_NEWS)
