"""`tidings memory`: a memory that surfaces by itself. The table of its commands."""

from __future__ import annotations

from tidings.cli.lazy import lazy_app

COMMANDS: dict[str, str] = {
    "serve": "tidings.cli.memory.serve:app",
    "remember": "tidings.cli.memory.remember:app",
    "recall": "tidings.cli.memory.recall:app",
    "list": "tidings.cli.memory.listing:app",
    "forget": "tidings.cli.memory.forget:app",
    "import": "tidings.cli.memory.importing:app",
    "export": "tidings.cli.memory.exporting:app",
    "check": "tidings.cli.memory.check:app",
}

app = lazy_app(COMMANDS, "Remember things across conversations, and answer with what fits.")


@app.callback()
def _options() -> None: ...
