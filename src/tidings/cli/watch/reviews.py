"""`tidings watch reviews`: tell agents of reviews and CI results, by webhook or by asking an endpoint."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from tidings.cli.lazy import command_app
from tidings.cli.watch.options import Http, JsonLines, Name
from tidings.cli.watch.serving import run
from tidings.errors import CallerError
from tidings.watchers.told import Watcher

if TYPE_CHECKING:
    from tidings.watchers.reviews.verifying import Scheme

app = command_app()
_EXAMPLES = """\
[bold]Examples[/bold]

tidings watch reviews --port 8787 --secret-env GITHUB_WEBHOOK_SECRET

tidings watch reviews --scheme gitlab --secret-env GITLAB_TOKEN --repository team/shop

tidings watch reviews --poll-url https://ci.example/runs.json --items /runs --state /result
"""


@app.command(epilog=_EXAMPLES)
def reviews(
    secret_env: Annotated[
        list[str] | None,
        typer.Option("--secret-env", metavar="VARIABLE", help="Holds the webhook's secret. Repeatable."),
    ] = None,
    scheme: Annotated[
        str,
        typer.Option(
            "--scheme", metavar="SCHEME", help="github, gitlab, or standard for Standard Webhooks."
        ),
    ] = "github",
    host: Annotated[str, typer.Option("--host", metavar="HOST", help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", metavar="PORT", help="Where to listen; 0: any.")] = 8787,
    path: Annotated[str, typer.Option("--path", metavar="PATH", help="Where to listen.")] = "/webhook",
    repository: Annotated[
        list[str] | None,
        typer.Option("--repository", metavar="OWNER/NAME", help="Only this one. Repeatable."),
    ] = None,
    poll_url: Annotated[
        str | None, typer.Option("--poll-url", metavar="URL", help="Ask this JSON endpoint.")
    ] = None,
    token_env: Annotated[
        str | None,
        typer.Option("--token-env", metavar="VARIABLE", help="Holds a bearer token for the endpoint."),
    ] = None,
    every: Annotated[float, typer.Option("--every", metavar="SECONDS", help="How often to ask.")] = 60.0,
    items: Annotated[str, typer.Option("--items", metavar="POINTER", help="Where the list stands.")] = "",
    id_at: Annotated[str, typer.Option("--id", metavar="POINTER", help="An item's id.")] = "/id",
    title: Annotated[str, typer.Option("--title", metavar="POINTER", help="An item's title.")] = "/title",
    state: Annotated[str, typer.Option("--state", metavar="POINTER", help="An item's state.")] = "/state",
    http: Http = None,
    name: Name = None,
    as_json: JsonLines = False,
) -> None:
    """Tell of pull-request reviews and CI results.

    The webhook receiver listens on loopback and takes only deliveries that are signed, new and young; put a
    tunnel or proxy with TLS in front. The poller asks with ETag and waits longer when the endpoint fails.

    Exit code: 0 when the host closed, 2 if a secret or the MCP SDK is missing or the port is taken.
    """
    from tidings.watchers.reviews.items import shape
    from tidings.watchers.reviews.made import poller, receiver

    form = shape(items=items, id=id_at, title=title, state=state)
    called = name or "reviews"
    watchers: list[Watcher] = []
    if poll_url is not None:
        watchers.append(
            poller(poll_url, form=form, token_env=token_env, every=every, name=called, environ=os.environ)
        )
    if secret_env:
        watchers.append(
            receiver(
                secret_env,
                scheme=_scheme(scheme),
                place=(host, port, path),
                repositories=repository or (),
                form=form,
                name=f"{called}-webhook" if watchers else called,
                environ=os.environ,
            )
        )
    if not watchers:
        raise CallerError("give --secret-env for webhooks, --poll-url for an endpoint, or both")
    run(watchers, http=http, as_json=as_json)


def _scheme(given: str) -> Scheme:
    from tidings.watchers.reviews.verifying import SCHEMES

    chosen = next((one for one in SCHEMES if one == given), None)
    if chosen is None:
        raise CallerError(f"--scheme must be one of {', '.join(SCHEMES)}; got {given!r}")
    return chosen
