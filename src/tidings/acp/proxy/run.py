"""Running the interposer: the agent's process, our own pipes, the door, signals, and an orderly end.

`run` is what `tidings acp-proxy` calls; it gives the exit code. Whoever ends first, the editor, the agent
or a signal, the others are told and given time, and after a deadline made to end. The agent's exit
code becomes ours.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import TYPE_CHECKING, TypeAlias

from tidings.acp.proxy.child import GRACE_SECONDS, KILL_SECONDS, Child, start
from tidings.acp.proxy.pipes import Editor, Pauses
from tidings.acp.proxy.relay import ChainRelay, Relay, Settings
from tidings.bridge.door.place import VARIABLE, door_error, own_path
from tidings.bridge.door.server import Door

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from tidings.acp.proxy.interposer import Interposer
    from tidings.acp.proxy.options import Options
    from tidings.bridge.rpc import Call
    from tidings.core.reminder import Payload
    from tidings.log.port import EventLog

Join: TypeAlias = "Callable[[Interposer, Options, asyncio.Event], Coroutine[object, object, None]]"
"""Follows the sessions of an interposer, elsewhere; the event is set whenever one came or went."""

_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def run(options: Options, join: Join | None = None) -> int:
    """Sit between our standard streams and the agent until one of them ends.

    `join` is started with the first session and follows all of them, unless `--no-hub` says not to.

    Raises:
        TidingsError: the agent, the log or the socket that was asked for cannot be had.
    """
    log = _open_log(options.log)
    try:
        return asyncio.run(_play(options, log, None if options.no_hub else join))
    finally:
        if log is not None:
            log.close()


def _open_log(address: str | None) -> EventLog | None:
    if address is None:
        return None
    from tidings.bridge.log_option import open_named  # only a log pays for loading it

    return open_named(address)


async def _play(options: Options, log: EventLog | None, join: Join | None) -> int:
    return await _Stage(options, log, join).play()


class _Stage:
    """Everything that one run owns. Build it inside the loop."""

    def __init__(self, options: Options, log: EventLog | None, join: Join | None) -> None:
        loop = asyncio.get_running_loop()
        settings = Settings(loop.call_later, log, not options.no_rfc, self._report, changed=self._changed)
        self._options = options
        self._join = join
        self._news = asyncio.Event()
        self._joining: asyncio.Task[None] | None = None
        self._over = asyncio.Event()
        self._signal: int | None = None
        self._failure: BaseException | None = None
        self._editor = Editor(self._over.set, self._report)
        self._to_agent = Pauses()
        self._child = Child(self._to_agent, self._over.set) if options.command else None
        self._relay: Relay | ChainRelay
        if self._child is not None:
            self._relay = Relay(self._editor.write, self._child.write, settings)
            self._child.feed = self._relay.from_agent.feed
        else:
            self._relay = ChainRelay(self._editor.write, settings)

    async def play(self) -> int:
        """Everything, from the first byte to the last."""
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(self._broke)
        for number in _SIGNALS:
            loop.add_signal_handler(number, self._stopped, number)
        door = await self._open_door()
        try:
            code = await self._between(None if door is None else door.path)
        finally:
            await self._leave()
            if door is not None:
                await door.close()
        if self._failure is not None:
            raise self._failure
        return code

    async def _open_door(self) -> Door | None:
        """The door, unless it is not wanted; only one that was asked for is worth failing."""
        if self._options.no_socket:
            return None
        try:
            door = Door(self._options.socket or own_path("acp"), self._visit)
            await door.open()
        except door_error() as error:
            if self._options.socket is not None:
                raise
            self._report(f"no socket for reminders: {error}")
            return None
        if not self._options.quiet:
            self._report(f"reminders at {door.path}")
        return door

    def _changed(self) -> None:
        """A session came or went: whoever joins them elsewhere looks again."""
        self._news.set()
        if self._joining is None and self._join is not None:
            joining = self._join(self._relay.interposer, self._options, self._news)
            self._joining = asyncio.ensure_future(joining)

    async def _leave(self) -> None:
        if self._joining is not None:
            self._joining.cancel()
            await asyncio.wait({self._joining})
            if not self._joining.cancelled() and (failure := self._joining.exception()) is not None:
                self._report(f"the sessions could not be joined to the hub: {failure!r}")

    async def _visit(self, call: Call) -> Payload | None:
        from tidings.acp.proxy.visitors import visit  # only a caller pays for loading it

        return await visit(call, self._relay.interposer)

    def _report(self, text: str) -> None:
        print(f"tidings: {text}", file=sys.stderr, flush=True)

    async def _between(self, door: str | None) -> int:
        to_editor = Pauses()
        try:
            await self._editor.open_output(to_editor)
            if self._child is not None:
                to_editor.source = await start(self._options.command, _environment(door), self._child)
            self._to_agent.source = await self._editor.open_input(self._relay.from_editor.feed)
            await self._over.wait()
            return await self._finish()
        finally:
            self._editor.close()

    def _broke(self, loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
        """A mistake of ours in a callback: end in order, then fail loudly."""
        failure = context.get("exception")
        if isinstance(failure, BaseException):
            self._failure = self._failure or failure
            self._over.set()
        else:
            loop.default_exception_handler(context)

    def _stopped(self, number: int) -> None:
        """A signal: the first asks for an orderly end, the next for an end."""
        if self._signal is not None and self._child is not None:
            self._child.kill()
        self._signal = number
        self._over.set()

    async def _finish(self) -> int:
        self._relay.from_editor.end()
        code = await self._end_of_agent()
        if isinstance(self._relay, Relay):
            self._relay.agent_gone(self._reason(code))
        await self._editor.flush()
        return code if self._signal is None else 128 + self._signal

    async def _end_of_agent(self) -> int:
        if self._child is None:
            return 0
        self._child.close_input()
        if self._signal is not None:
            self._child.terminate()
        left_by_editor = self._signal is None and not self._child.silent.is_set()
        return await self._child.end(GRACE_SECONDS if left_by_editor else KILL_SECONDS)

    def _reason(self, code: int) -> str:
        if self._signal is not None:
            return f"tidings acp-proxy was stopped by signal {self._signal} before the agent answered"
        if self._failure is not None:
            return f"tidings acp-proxy failed before the agent answered: {self._failure!r}"
        return f"the agent ended with exit code {code} before it answered"


def _environment(door: str | None) -> dict[str, str]:
    """Ours, with the way to the door for whatever the agent starts."""
    return {**os.environ, VARIABLE: door} if door is not None else dict(os.environ)
