"""`tidings connect`: a coding agent that you use already hears what the hub has for it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from tidings.cli.connecting.places import Scope
from tidings.cli.lazy import command_app
from tidings.core.producers import shown
from tidings.core.reminder import Payload
from tidings.diagnostics.visible import visible
from tidings.errors import CallerError
from tidings.hosts.happening import HOSTS, Host
from tidings.hosts.table import host_named

if TYPE_CHECKING:
    from tidings.cli.connecting.plan import Plan

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

tidings connect codex --server ws://127.0.0.1:4500 --wake
"""


@app.command(epilog=_EXAMPLES)
def connect(
    host: HostName,
    project: Project = False,
    user: User = False,
    wake: Annotated[
        bool, typer.Option("--wake", help="Let what is urgent wake the agent when it is idle.")
    ] = False,
    server: Annotated[
        str | None,
        typer.Option(
            "--server",
            "--app-server",
            metavar="URL",
            help="Where the host's own server listens: codex app-server, or opencode serve.",
        ),
    ] = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Put Tidings into the settings of a coding agent: its hooks or its plugin then ask the hub.

    What is not ours stays as it is, and `tidings disconnect` gives the file back byte for byte. No token is
    written: the hooks find the hub's socket, which only you can reach. While no hub runs, the agent works
    as before; start one with `tidings up`. With --server the hub also speaks to the host by itself, and
    opencode needs no plugin.

    Exit code: 0; 2 if the settings cannot be changed safely.
    """
    from tidings.cli.connecting import manifest
    from tidings.cli.connecting import server as servers
    from tidings.cli.connecting.wiring import TRUST, Wish, carry_out, connecting
    from tidings.hub.place import place_of

    chosen, place = host_of(host), place_of()
    surface = servers.wanted(chosen, server, wake)
    known = manifest.load(place)
    wish = Wish(host=chosen, scope=scope_of(project, user), folder=Path.cwd(), wake=wake)
    plugless = chosen == "opencode" and surface is not None
    changes = () if plugless else connecting(wish, known)
    if not dry_run:
        carry_out(changes, place, known)
        servers.remember(place, chosen, surface)
    told: Payload = {
        "host": chosen,
        **files_told(changes),
        "server": server,
        "dryRun": dry_run,
        "wake": wake,
        "trust": TRUST[chosen],
    }
    if as_json:
        typer.echo(json.dumps(told))
        return
    if server is not None:
        typer.echo(f"the hub {'would speak' if dry_run else 'speaks'} to {server}")
    for change in changes:
        done = visible_diff(change.diff()) or f"{change.target.path}: nothing to change"
        typer.echo(done if dry_run else f"{change.target.path}: {change.change}")
    if changes and not dry_run:
        typer.echo(TRUST[chosen])
    if not dry_run and not place.answers:
        typer.echo("No hub runs now: start one with `tidings up --detach`.")


def files_told(changes: Sequence[Plan]) -> Payload:
    """What happens to the files: the host's own, the others, and all of it as one diff."""
    rows = [{"path": str(each.target.path), "change": each.change} for each in changes]
    first = rows[0] if rows else {"path": None, "change": "unchanged"}
    return {**first, "also": rows[1:], "diff": "".join(each.diff() for each in changes)}


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
