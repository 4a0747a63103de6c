"""`tidings up --demo`: the hub and the play in it, in one terminal, until Ctrl-C or the end of the play."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from rich.console import Console
from rich.text import Text

from tidings.cli.panel import is_private, link
from tidings.cli.showing.play import play
from tidings.hub.daemon import serve
from tidings.hub.place import Place, State, is_running, read_state

COLOURS = {"hears": "bold cyan", "agent": "green", "editor": "yellow", "hub": "magenta", "you": "bold"}


def demo(place: Place, port: int, *, once: bool) -> bool:
    """Play the demo in the running hub, or in one that is started for it; whether the agent heard it all.

    Raises:
        HubError: the hub cannot start, or does not answer.
    """
    os.umask(0o077)
    return asyncio.run(_demo(place, port, Narrator(), once))


class Narrator:
    """Prints who does what, as it happens."""

    def __init__(self) -> None:
        self._console = Console(highlight=False, soft_wrap=True)

    def __call__(self, who: str, what: str) -> None:
        """One line."""
        self._console.print(Text(f"{who:>10}  ", style="dim") + Text(what, style=COLOURS.get(who, "")))


async def _demo(place: Place, port: int, say: Narrator, once: bool) -> bool:
    async with _hub(place, port) as state:
        say("hub", f"runs at {state.url}")
        if is_private():
            say("hub", f"open the panel: {link(place, state)}")
        work = asyncio.create_task(play(place.socket, say, once=once))
        for end in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(end, work.cancel)
        await asyncio.wait({work})
        return not work.cancelled() and work.result()


@asynccontextmanager
async def _hub(place: Place, port: int) -> AsyncIterator[State]:
    """The hub that runs, else one for the block."""
    running = read_state(place) if is_running(place) else None
    if running is not None:
        yield running
        return
    ready: list[State] = []
    up, stop = asyncio.Event(), asyncio.Event()

    def announce(state: State) -> None:
        ready.append(state)
        up.set()

    serving = asyncio.create_task(serve(place, port, announce, stop))
    starting = asyncio.create_task(up.wait())
    try:
        await asyncio.wait({starting, serving}, return_when=asyncio.FIRST_COMPLETED)
        if ready:
            yield ready[0]
    finally:
        starting.cancel()
        stop.set()
        await serving
