"""The options that the watch commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Root = Annotated[
    Path, typer.Option("--root", metavar="FOLDER", help="The folder to watch, and to run commands in.")
]
Only = Annotated[
    list[str] | None,
    typer.Option(
        "--only", metavar="GLOB", help="Only files that match, as in .gitignore; ! leaves out. Repeatable."
    ),
]
Poll = Annotated[
    bool, typer.Option("--poll", help="Look again and again where the system cannot tell of changes.")
]
Http = Annotated[
    int | None,
    typer.Option("--http", metavar="PORT", help="Serve MCP over HTTP on this port of 127.0.0.1; 0: any."),
]
JsonLines = Annotated[
    bool, typer.Option("--json", help="Serve nothing: print what would be told, one JSON object a line.")
]
OwnWritesTool = Annotated[
    bool,
    typer.Option(
        "--own-writes", help="Offer the tool report_own_writes, so that hosts can say what the agent wrote."
    ),
]
Name = Annotated[
    str | None, typer.Option("--name", metavar="NAME", help="The name in origins and dedupe keys.")
]
Every = Annotated[
    float | None,
    typer.Option("--every", metavar="SECONDS", help="Run by the clock and not when files change."),
]
Deadline = Annotated[
    float, typer.Option("--deadline", metavar="SECONDS", help="When a run is stopped and counts as failed.")
]
