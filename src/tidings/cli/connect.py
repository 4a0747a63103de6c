"""`tidings connect`: a coding agent that you use already hears what the hub has for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from tidings.cli.connecting.places import Scope
from tidings.cli.lazy import command_app
from tidings.core.producers import shown
from tidings.core.reminder import Payload
from tidings.diagnostics.visible import visible
from tidings.errors import CallerError
from tidings.hosts.happening import HOSTS, Host
from tidings.hosts.table import host_named

app = command_app()

HostName: TypeAlias = Annotated[
    str, typer.Argument(metavar="HOST", help="claude-code, codex, gemini or opencode.")
]
Project: TypeAlias = Annotated[
    bool, typer.Option("--project", help="Only in this folder; otherwise for you, everywhere.")
]
User: TypeAlias = Annotated[bool, typer.Option("--user", help="For you, everywhere. This is the default.")]
DryRun: TypeAlias = Annotated[bool, typer.Option("--dry-run", help="Show the change and leave it.")]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print what was done as one JSON object.")]

_EXAMPLES = """\
[bold]Examples[/bold]

tidings connect claude-code --dry-run

tidings connect codex

tidings connect opencode --project --wake
"""


@app.command(epilog=_EXAMPLES)
def connect(
    host: HostName,
    project: Project = False,
    user: User = False,
    wake: Annotated[
        bool, typer.Option("--wake", help="Let what is urgent wake the agent when it is idle.")
    ] = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Put Tidings into the settings of a coding agent: its hooks or its plugin then ask the hub.

    What is not ours stays as it is, and `tidings disconnect` gives the file back byte for byte. No token is
    written: the hooks find the hub's socket, which only you can reach. While no hub runs, the agent works
    as before; start one with `tidings up`.

    Exit code: 0; 2 if the settings cannot be changed safely.
    """
    from tidings.cli.connecting import manifest
    from tidings.cli.connecting.wiring import TRUST, Wish, carry_out, connecting
    from tidings.hub.place import place_of

    chosen, place = host_of(host), place_of()
    known = manifest.load(place)
    wish = Wish(host=chosen, scope=scope_of(project, user), folder=Path.cwd(), wake=wake)
    change = connecting(wish, known)
    if not dry_run:
        carry_out(change, place, known)
    told: Payload = {
        "host": chosen,
        "path": str(change.target.path),
        "change": change.change,
        "dryRun": dry_run,
        "wake": wake,
        "trust": TRUST[chosen],
    }
    if as_json:
        typer.echo(json.dumps({**told, "diff": change.diff()}))
    elif dry_run:
        typer.echo(visible_diff(change.diff()) or f"{change.target.path}: nothing to change")
    else:
        typer.echo(f"{change.target.path}: {change.change}\n{TRUST[chosen]}")
        if not place.answers:
            typer.echo("No hub runs now: start one with `tidings up --detach`.")


def host_of(name: str) -> Host:
    """The host of that name.

    Raises:
        CallerError: there is none.
    """
    host = host_named(name)
    if host is None:
        raise CallerError(f"HOST is {shown(name)}; give one of {', '.join(HOSTS)}")
    return host


def scope_of(project: bool, user: bool) -> Scope:
    """For whom: the project, or the user.

    Raises:
        CallerError: both were given.
    """
    if project and user:
        raise CallerError("give --project or --user, not both")
    return "project" if project else "user"


def visible_diff(diff: str) -> str:
    """A diff for a terminal: settings are text of others."""
    return "\n".join(visible(line) for line in diff.splitlines())
