"""`tidings consent`: which MCP servers may see your conversations, since when, and what they were sent.

Every change takes effect at once, also in agents that run. `ledger` reads what `tidings.mcp.conversation`
wrote before it sent anything.
"""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from tidings.cli.lazy import lazy_app
from tidings.diagnostics.visible import visible
from tidings.log.record import LogRecord
from tidings.mcp.config import ConfigError, Server, read_config
from tidings.mcp.conversation import ledger as ledgers
from tidings.mcp.conversation.consent import ConsentError, Grant, read_scopes, shown_target, target_of
from tidings.mcp.conversation.names import SEES
from tidings.mcp.conversation.store import ConsentStore

COMMANDS: dict[str, str] = {
    "list": "tidings.cli.consent:show",
    "grant": "tidings.cli.consent:grant",
    "revoke": "tidings.cli.consent:revoke",
    "ledger": "tidings.cli.consent:ledger",
}
CONFIGS = (".mcp.json", "mcp.json")
"""The files in which a server is looked for when none is named."""

app = lazy_app(COMMANDS, "Decide which MCP servers may see your conversations. None may until you say so.")

AsJson = Annotated[bool, typer.Option("--json", help="One JSON object per line, with everything in it.")]
Name = Annotated[str, typer.Argument(metavar="SERVER", help="The name of the server in its config.")]


@app.callback()
def _options() -> None: ...


def show(as_json: AsJson = False) -> None:
    """List who may see what, where, since when, and when it was last used."""
    used = _last_used()
    for one in ConsentStore().read().grants:
        last = used.get((one.server, one.target))
        if as_json:
            typer.echo(json.dumps({**msgspec.to_builtins(one), "last_used_ms": last}))
        else:
            typer.echo(_line(one, last))


def grant(
    server: Name,
    config: Annotated[
        Path | None,
        typer.Option(
            "--config", metavar="FILE", help="The file that names it. Default: .mcp.json, mcp.json."
        ),
    ] = None,
    scope: Annotated[
        list[str] | None,
        typer.Option("--scope", metavar="SCOPE", help="message, history or assistant; repeat for more."),
    ] = None,
    project: Annotated[
        Path | None, typer.Option("--project", metavar="FOLDER", help="Only in this folder. Default: here.")
    ] = None,
    everywhere: Annotated[bool, typer.Option("--everywhere", help="In every project.")] = False,
    priority: Annotated[
        int, typer.Option("--priority", metavar="N", help="Its context comes before that of lower ones.")
    ] = 0,
) -> None:
    """Let a server see the messages that you send, from now on."""
    if everywhere and project is not None:
        raise ConsentError("give --project or --everywhere, not both")
    found = _configured(server, config)
    given = Grant(
        server=found.name,
        target=target_of(found),
        what=shown_target(found),
        project=None if everywhere else os.path.realpath(project or Path.cwd()),
        scopes=read_scopes(scope or ()),
        priority=priority,
    )
    kept = ConsentStore().grant(given)
    _note(ledgers.GRANTED, [kept])
    seen = " and ".join(SEES[name] for name in kept.scopes)
    typer.echo(visible(f"{kept.server} ({kept.what}) may see {seen}, {_where(kept)}."))
    typer.echo(visible(f"Take it back with: tidings consent revoke {kept.server}"))


def revoke(
    server: Name,
    project: Annotated[
        Path | None, typer.Option("--project", metavar="FOLDER", help="Only there. Default: everywhere.")
    ] = None,
) -> None:
    """Let a server see nothing any more; also not the answer to what it is asked right now."""
    place = None if project is None else os.path.realpath(project)
    gone = ConsentStore().revoke(server, place)
    if not gone:
        raise ConsentError(f"{server!r} has no consent that could be taken back; see: tidings consent list")
    _note(ledgers.REVOKED, list(gone))
    typer.echo(visible(f"{server} sees nothing any more{'' if place is None else f' in {place}'}."))


def ledger(
    server: Annotated[
        str | None, typer.Argument(metavar="SERVER", help="Only this server.", show_default=False)
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Only the last so many entries.", metavar="N")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show what each server was sent: when, how much, by which consent. Your words are not in it."""
    if not ledgers.ledger_path().exists():
        return
    with ledgers.open_ledger() as log:
        taken = [one for one in ledgers.entries(log) if server in (None, one.payload.get("server"))]
    for record in islice(taken, max(len(taken) - limit, 0) if limit is not None else 0, None):
        typer.echo(json.dumps(record.to_dict()) if as_json else visible(_entry(record)))


def _configured(name: str, config: Path | None) -> Server:
    """The server of that name in the config.

    Raises:
        ConfigError: no config, or no such server in it.
    """
    path = config or next((Path(one) for one in CONFIGS if Path(one).is_file()), None)
    if path is None:
        raise ConfigError(f"there is no {' or '.join(CONFIGS)} here; name the file with --config")
    try:
        decoded = msgspec.json.decode(path.read_bytes())
    except OSError as error:
        raise ConfigError(f"--config {str(path)!r} cannot be read: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"--config {str(path)!r} is not JSON: {error}") from error
    servers = {server.name: server for server in read_config(decoded, os.environ)}
    if name not in servers:
        raise ConfigError(f"{str(path)!r} has no server {name!r}; it has {', '.join(servers) or 'none'}")
    return servers[name]


def _last_used() -> dict[tuple[str, str], int]:
    if not ledgers.ledger_path().exists():
        return {}
    with ledgers.open_ledger() as log:
        return ledgers.last_used(log)


def _note(kind: str, grants: list[Grant]) -> None:
    with ledgers.open_ledger() as log:
        ledgers.note_consent(log, kind, grants)


def _line(grant: Grant, last: int | None) -> str:
    scopes = ",".join(grant.scopes) or "off"
    used = "never used" if last is None else f"last used {_time(last)}"
    text = f"{grant.server}  {scopes}  {_where(grant)}  since {_time(grant.granted_at_ms)}  {used}"
    return visible(f"{text}  ({grant.what})" if grant.what else text)


def _entry(record: LogRecord) -> str:
    told, when = record.payload, _time(record.occurred_at_ms)
    scopes = told.get("scopes")
    listed = ",".join(map(str, scopes)) if isinstance(scopes, list) and scopes else "off"
    if record.kind != ledgers.SENT:
        what = record.kind.rpartition(".")[2]
        return f"{when}  {told.get('server')}  {what}  {listed}  {told.get('project') or 'everywhere'}"
    digest = str(told.get("sha256"))[:16]
    size = f"{told.get('bytes')} bytes  sha256 {digest}…"
    return f"{when}  {told.get('server')}  {told.get('event')}  {listed}  {size}  {told.get('project')}"


def _where(grant: Grant) -> str:
    return "everywhere" if grant.project is None else f"in {grant.project}"


def _time(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%SZ")
