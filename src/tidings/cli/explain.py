"""`tidings explain`: what a diagnostic code means and how to fix it; without a code, all of them."""

from __future__ import annotations

from typing import Annotated

import msgspec
import typer

from tidings.cli.lazy import command_app
from tidings.diagnostics.catalogue import CATALOGUE
from tidings.diagnostics.explain import explain as explain_code

app = command_app()
_EXAMPLES = """\
[bold]Examples[/bold]

tidings explain

tidings explain HARN-RMD-005

tidings explain 5 --json
"""


@app.command(epilog=_EXAMPLES)
def explain(
    code: Annotated[
        str | None,
        typer.Argument(
            metavar="CODE", help='A code such as "HARN-RMD-005", or "5" for short.', show_default=False
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, for scripts.")] = False,
) -> None:
    """Explain a diagnostic code, with an example and its fix. Without a code, list them all."""
    if code is None:
        typer.echo(_json(CATALOGUE) if as_json else _listed())
        return
    explanation = explain_code(code)
    typer.echo(_json(explanation.diagnostic) if as_json else str(explanation))


def _listed() -> str:
    width = max(len(known.code) for known in CATALOGUE)
    return "\n".join(f"{known.code:<{width}}  {known.title}" for known in CATALOGUE)


def _json(value: object) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
