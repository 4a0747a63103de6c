"""Watchers joined to an MCP server, or to standard output: what `tidings watch` runs.

Each piece of news becomes `notifications/reminder` for every client that wants it, and `resources/updated`
for the files it is about; what watchers notice for the record goes to stderr as JSON lines. A watcher that
fails ends the process with its message.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Coroutine, Sequence
from contextlib import aclosing
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import msgspec

from tidings.bridge.served.stdio import Signals
from tidings.errors import CallerError
from tidings.mcp.names import OWN_WRITES
from tidings.watchers.own import OwnWrites
from tidings.watchers.told import Noticed, Watcher

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

    from tidings.mcp.emit.reminders import Reminders

MOST_WRITES = 1_000
_TOOL_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "writes": {
            "type": "array",
            "maxItems": MOST_WRITES,
            "items": {
                "type": "object",
                "properties": {"path": {"type": "string"}, "sha256": {"type": "string"}},
                "required": ["path"],
            },
        }
    },
    "required": ["writes"],
}
_TOOL_WORDS = (
    "For the program that runs the agent: name the files that the agent itself wrote, so that it is not "
    "reminded of them. With the sha256 of the content it can be said before writing."
)


def run(
    watchers: Sequence[Watcher], *, http: int | None, as_json: bool, own: OwnWrites | None = None
) -> None:
    """Serve `watchers` until the client leaves or the process is asked to stop.

    Raises:
        CallerError: the MCP SDK is missing, or a watcher cannot go on.
    """
    if as_json:
        _until_interrupted(_print_until_asked(watchers))
        return
    if find_spec("mcp") is None:
        raise CallerError(
            "tidings watch needs the MCP SDK: pip install 'tidings[mcp]'; --json does without"
        )
    _until_interrupted(_serve(watchers, http, own))


def _until_interrupted(work: Coroutine[object, object, None]) -> None:
    try:
        asyncio.run(work)
    except KeyboardInterrupt:
        raise SystemExit(130) from None


async def _serve(watchers: Sequence[Watcher], http: int | None, own: OwnWrites | None) -> None:
    from tidings.mcp import Reminders, serve_http, serve_stdio

    server = _server("-".join(("tidings-watch", *(watcher.name for watcher in watchers))), own)
    reminders = Reminders(server, on_drop=lambda lost: _note("mcp", "dropped", str(lost)))
    if http is None:
        serving = serve_stdio(server)
    else:
        serving = serve_http(server, port=http, ready=lambda url: _note("mcp", "ready", url))
    feeds = [_feed(watcher, reminders) for watcher in watchers]
    await _beside(serving, [*feeds, *(_announce(watcher) for watcher in watchers)])


async def _beside(main: Coroutine[Any, Any, None], others: Sequence[Coroutine[Any, Any, None]]) -> None:
    """Run `main`, and the others while it lasts; the first that fails ends all."""
    first = asyncio.create_task(main)
    tasks = [first, *(asyncio.create_task(other) for other in others)]
    try:
        while not first.done():
            going = [task for task in tasks if not task.done()]
            done, _ = await asyncio.wait(going, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _feed(watcher: Watcher, reminders: Reminders) -> None:
    async with aclosing(watcher.watch()) as news:
        async for one in news:
            if isinstance(one, Noticed):
                _note(watcher.name, one.code, one.message, **one.details)
                continue
            for uri in one.uris:
                reminders.resource_updated(uri)
            options: dict[str, Any] = one.options()
            await reminders.emit(**options)


async def _announce(watcher: Watcher) -> None:
    """Say when it has begun, and where it listens if it does."""
    ready = getattr(watcher, "ready", None)
    if isinstance(ready, asyncio.Event):
        await ready.wait()
        _note(watcher.name, "watching", getattr(watcher, "url", ""))


async def _print_until_asked(watchers: Sequence[Watcher]) -> None:
    """Print until a signal asks for an end: commands that run are ended first."""
    printing = asyncio.create_task(_print(watchers))

    def stop() -> None:
        printing.cancel()

    signals = Signals(stop)
    await asyncio.wait({printing})
    if signals.number is not None:
        raise SystemExit(128 + signals.number)
    printing.result()


async def _print(watchers: Sequence[Watcher]) -> None:
    first, *others = [_print_all(watcher) for watcher in watchers]
    await _beside(first, [*others, *(_announce(watcher) for watcher in watchers)])


async def _print_all(watcher: Watcher) -> None:
    async with aclosing(watcher.watch()) as news:
        async for one in news:
            if isinstance(one, Noticed):
                _note(watcher.name, one.code, one.message, **one.details)
            else:
                row = {"watcher": watcher.name, **msgspec.to_builtins(one)}
                print(json.dumps(row, ensure_ascii=False), flush=True)


def _note(watcher: str, code: str, message: str, **details: object) -> None:
    row = {"watcher": watcher, "code": code, "message": message, **details}
    print(json.dumps(row, ensure_ascii=False, default=str), file=sys.stderr, flush=True)


def _server(name: str, own: OwnWrites | None) -> Server[Any]:
    import mcp_types as types
    from mcp.server.lowlevel import Server

    from tidings.version import __version__

    async def resources(_ctx: object, _params: object) -> types.ListResourcesResult:
        """None is listed: the files are the host's to read; who reads them may subscribe to their URI."""
        return types.ListResourcesResult(resources=[])

    async def tools(_ctx: object, _params: object) -> types.ListToolsResult:
        tool = types.Tool(name=OWN_WRITES, description=_TOOL_WORDS, input_schema=_TOOL_SCHEMA)
        return types.ListToolsResult(tools=[] if own is None else [tool])

    async def call(_ctx: object, params: types.CallToolRequestParams) -> types.CallToolResult:
        text, wrong = reported(own, params.name, params.arguments)
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=wrong)

    return Server(
        name,
        version=__version__,
        on_list_resources=resources,
        on_list_tools=None if own is None else tools,
        on_call_tool=None if own is None else call,
    )


def reported(own: OwnWrites | None, name: str, arguments: object) -> tuple[str, bool]:
    """The answer to the tool: how many writes are known now; or what is wrong with them, and that it is."""
    if own is None or name != OWN_WRITES:
        return f"there is no tool {name!r}", True
    try:
        writes = msgspec.convert(arguments, dict[str, list[dict[str, str]]])["writes"]
        known = [own.note(one["path"], one.get("sha256")) for one in writes[:MOST_WRITES]]
    except (msgspec.ValidationError, KeyError, ValueError) as error:
        return f"`writes` must be a list of objects with a path and perhaps a sha256: {error}", True
    return f"{sum(known)} of {len(known)} writes are known", False
