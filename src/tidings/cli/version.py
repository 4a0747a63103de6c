"""`tidings version`: which Tidings this is, and what it stands on."""

from __future__ import annotations

from typing import Annotated

import typer

from tidings.cli.lazy import command_app
from tidings.version import __version__

app = command_app()


@app.command()
def version(
    as_json: Annotated[
        bool, typer.Option("--json", help="Also Python, SQLite and msgspec, as one JSON object.")
    ] = False,
) -> None:
    """Show the version of Tidings."""
    typer.echo(_as_json() if as_json else f"tidings {__version__}")


def _as_json() -> str:
    import json
    import platform
    import sqlite3

    import msgspec

    return json.dumps(
        {
            "tidings": __version__,
            "python": platform.python_version(),
            "sqlite": sqlite3.sqlite_version,
            "msgspec": msgspec.__version__,
        }
    )
