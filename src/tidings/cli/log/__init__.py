"""`tidings log`: look into an event log from outside. The table of its commands."""

from __future__ import annotations

from tidings.cli.lazy import lazy_app

COMMANDS: dict[str, str] = {
    "show": "tidings.cli.log.show:app",
    "follow": "tidings.cli.log.follow:app",
    "topics": "tidings.cli.log.topics:app",
    "verify": "tidings.cli.log.verify:app",
}

app = lazy_app(COMMANDS, "Look into an event log: what happened to which reminder, and when.")


@app.callback()
def _options() -> None: ...
