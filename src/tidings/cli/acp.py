"""`tidings acp`: the agent for editors that speak the Agent Client Protocol, on stdin and stdout."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from importlib.util import find_spec
from typing import Annotated

import msgspec
import typer

from tidings.agent.session import Session
from tidings.bridge.served.neighbours import Connect, Neighbours
from tidings.bridge.served.settings import open_settings
from tidings.cli.bridge import BaseUrl, LogAddress, ModelName, SystemFile, serve_stdio
from tidings.cli.joining import NoHub, hub_join
from tidings.cli.lazy import command_app
from tidings.errors import CallerError

app = command_app()
_EXAMPLES = """\
[bold]Examples[/bold]

tidings acp --model anthropic/claude-opus-5

tidings acp --model openai/gpt-5 --log sqlite:///sessions.db --system agent.md

docs/how-to/use-from-an-editor.md has the settings for editors.
"""


@app.command(epilog=_EXAMPLES)
def acp(
    model: ModelName = None,
    log: LogAddress = None,
    system: SystemFile = None,
    base_url: BaseUrl = None,
    no_rfc_capability: Annotated[
        bool,
        typer.Option(
            "--no-rfc-capability",
            help="Advertise reminders under _meta only, and not as agentCapabilities.reminders too.",
        ),
    ] = False,
    no_hub: NoHub = False,
) -> None:
    """Be an ACP agent that editors can remind. An editor starts this; it is not typed by hand.

    Nothing but the protocol is written to stdout; logging goes to stderr. The tools work in the folder that
    the editor opens, and the editor's user approves what changes something. Sessions are kept in the log,
    so that they can be loaded again after a restart. MCP servers that the editor names are connected
    (with tidings[mcp]): their tools are offered, and what they push reaches the model, quoted. When the hub
    runs (`tidings up`), the sessions join it.

    Exit code: 0 when the editor closed, 128 + n after signal n, 2 if the ACP SDK, a model, its SDK, its key
    or the log is missing.
    """
    if find_spec("acp") is None:
        raise CallerError("tidings acp needs the ACP SDK: pip install 'tidings[acp]'")
    with open_settings(model=model, log=log, system=system, base_url=base_url) as settings:
        from tidings.acp.agent.serve import serve  # a second of loading, for whoever really serves

        joined = msgspec.structs.replace(settings, connect=_connect(), join=hub_join("acp", no_hub))
        serve_stdio(partial(serve, rfc=not no_rfc_capability), joined)


def _connect() -> Connect | None:
    """How sessions reach the MCP servers that an editor names; None without the SDK for it."""
    if find_spec("mcp") is None:
        return None

    def connect(entries: Sequence[object], session: Session) -> AbstractAsyncContextManager[Neighbours]:
        from tidings.mcp import Servers, from_acp  # only an editor that names servers pays for it

        return Servers([from_acp(entry) for entry in entries], session=session)

    return connect
