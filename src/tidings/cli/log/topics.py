"""`tidings log topics`: the topics of a log and how many records each has."""

from __future__ import annotations

import json

import typer

from tidings.cli.lazy import command_app
from tidings.cli.log.address import Address, open_existing
from tidings.cli.log.choice import AsJson
from tidings.diagnostics.visible import visible

app = command_app()


@app.command()
def topics(address: Address = None, as_json: AsJson = False) -> None:
    """List the topics of a log, each with the number of its last record."""
    with open_existing(address) as log:
        for name in log.topics():
            latest = log.latest(name)
            line = json.dumps({"topic": name, "latest": latest})
            typer.echo(line if as_json else f"{latest:>8}  {visible(name)}")
