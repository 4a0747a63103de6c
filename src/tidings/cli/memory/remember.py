"""`tidings memory remember`: tell the memory something."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from tidings.cli.lazy import command_app
from tidings.cli.memory.options import AsJson, Everywhere, File, Project, place, project_name
from tidings.cli.remind import read_body

app = command_app()
_EXAMPLES = """\
[bold]Examples[/bold]

tidings memory remember "We deploy on Tuesdays and Thursdays only." --kind decision

tidings memory remember "The API host is api2.example." --key api-host

tidings memory remember "I prefer short answers." --everywhere --pin
"""


@app.command(epilog=_EXAMPLES)
def remember(
    text: Annotated[
        str,
        typer.Argument(metavar="TEXT", help="One statement that says it all; - reads stdin."),
    ],
    file: File = None,
    project: Project = None,
    everywhere: Everywhere = False,
    kind: Annotated[
        str, typer.Option("--kind", metavar="KIND", help="note, preference, decision or fact.")
    ] = "note",
    key: Annotated[
        str | None,
        typer.Option("--key", metavar="KEY", help="What it is about; the newest with this key counts."),
    ] = None,
    replaces: Annotated[
        list[str] | None, typer.Option("--replaces", metavar="ID", help="A memory it replaces; repeatable.")
    ] = None,
    valid_from: Annotated[
        str | None, typer.Option("--from", metavar="WHEN", help="From when it holds, ISO 8601.")
    ] = None,
    valid_to: Annotated[
        str | None, typer.Option("--until", metavar="WHEN", help="Until when it holds, ISO 8601.")
    ] = None,
    source: Annotated[
        str | None, typer.Option("--source", metavar="LINK", help="Where it comes from.")
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", metavar="TAG", help="A tag; repeatable.")
    ] = None,
    pin: Annotated[bool, typer.Option("--pin", help="Prefer it over others.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Remember it although it looks like a secret.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Remember one statement, in a project or everywhere.

    Exit code: 0 when it is stored, 2 if it is refused or the file cannot be written.
    """
    from tidings.core.redaction import redact
    from tidings.memory.ingest import refuse_secrets, refuse_seen
    from tidings.memory.store import MemoryStore

    said = read_body(text, None)
    refuse_seen(kind)
    options: dict[str, object] = {
        "text": said,
        "kind": kind,
        "key": key,
        "replaces": replaces or None,
        "valid_from": valid_from,
        "valid_to": valid_to,
        "source": source,
        "tags": tag or None,
        "pinned": pin,
        "project": project_name(project, everywhere),
    }
    if not force:
        refuse_secrets(options, redact)
    with MemoryStore(place(file, must_exist=False)) as store:
        done = store.remember(options)
    if as_json:
        told = {"id": done.memory.id, "new": done.new, "replaced": list(done.replaced)}
        typer.echo(json.dumps(told))
        return
    typer.echo(f"{'remembered' if done.new else 'known already'}: {done.memory.id}")
    for old in done.replaced:
        typer.echo(f"replaces: {old}")
