"""`tidings log`: look into an event log from outside. The table of its commands."""

from __future__ import annotations

from tidings.cli.lazy import lazy_app

COMMANDS: dict[str, str] = {
    "show": "tidings.cli.log.show",
    "follow": "tidings.cli.log.follow",
    "topics": "tidings.cli.log.topics",
    "verify": "tidings.cli.log.verify",
}

app = lazy_app(COMMANDS, "Look into an event log: what happened to which reminder, and when.")


@app.callback()
def _options() -> None: ...
