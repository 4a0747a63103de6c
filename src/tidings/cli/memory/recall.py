"""`tidings memory recall`: ask the memory."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from tidings.cli.lazy import command_app
from tidings.cli.memory.options import AsJson, Everywhere, File, Project, item_line, place, project_name

app = command_app()
_EXAMPLES = """\
[bold]Examples[/bold]

tidings memory recall "when may we deploy?"

tidings memory recall "when may we deploy?" --as-message
"""


@app.command(epilog=_EXAMPLES)
def recall(
    query: Annotated[str, typer.Argument(metavar="QUESTION", help="What to look for, in words.")],
    file: File = None,
    project: Project = None,
    everywhere: Everywhere = False,
    max_items: Annotated[int, typer.Option("--max-items", metavar="N", help="At most so many.", min=1)] = 5,
    max_chars: Annotated[
        int, typer.Option("--max-chars", metavar="N", help="At most so many characters.", min=1)
    ] = 1_200,
    as_message: Annotated[
        bool, typer.Option("--as-message", help="Show only what would surface by itself in a conversation.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show what is remembered about a question, the most relevant first.

    Exit code: 0, also when nothing is; 2 if the file cannot be read.
    """
    from tidings.memory.answer import Budget
    from tidings.memory.store import MemoryStore
    from tidings.memory.tools import said

    budget = Budget(max_items=max_items, max_chars=max_chars, deadline_ms=10_000)
    home = project_name(project, everywhere)
    with MemoryStore(place(file)) as store:
        store.warm_up()
        if as_message:
            answer = store.answer(query, budget=budget, project=home)
        else:
            answer = store.recall(query, budget=budget, project=home)
    if as_json:
        typer.echo(json.dumps(said(answer), ensure_ascii=False))
        return
    for item in answer.items:
        typer.echo(item_line(item))
    if answer.silent:
        typer.echo(f"tidings: {answer.silent}", err=True)
