"""`tidings memory serve`: the memory as an MCP server: conversation events, and four tools.

The joining of `tidings.memory` with `tidings.mcp`: neither knows the other. What decides is in
`MemoryServer`.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tidings.cli.lazy import command_app
from tidings.cli.memory.options import DATE, Everywhere, File, Project, place, project_name
from tidings.errors import CallerError, TidingsError
from tidings.memory.answer import Item
from tidings.memory.ingest import Consent
from tidings.memory.server import MemoryServer
from tidings.memory.store import MemoryStore

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server
    from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult

    from tidings.mcp.conversation import AssistantResponse, Memory, UserMessage

NAME = "tidings-memory"
PURPOSE = "Looks up what you told it to remember, and adds what fits your message."
KEEPING = "Looks up what it remembers, adds what fits your message, and keeps what is said on this machine."

app = command_app()
_EXAMPLES = """\
[bold]Examples[/bold]

tidings memory serve

tidings memory serve --project harbor --keep-user
"""


@app.command(epilog=_EXAMPLES)
def serve(
    file: File = None,
    project: Project = None,
    everywhere: Everywhere = False,
    keep_user: Annotated[bool, typer.Option("--keep-user", help="Keep what the user says.")] = False,
    keep_assistant: Annotated[
        bool, typer.Option("--keep-assistant", help="Keep what the assistant answers.")
    ] = False,
) -> None:
    """Be a memory for an MCP host, over stdin and stdout. A host starts this; it is not typed by hand.

    It answers conversation/userMessage with what fits, where the host's user agreed to that, and offers
    the tools remember, recall, forget and list. It keeps only what it is told to remember, unless
    --keep-user or --keep-assistant is given.

    Exit code: 0 when the host closed, 2 if the MCP SDK is missing or the file cannot be opened.
    """
    from tidings.core.redaction import redact

    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="tidings: %(message)s")
    consent = Consent(user=keep_user, assistant=keep_assistant)
    home = project_name(project, everywhere)
    with (
        MemoryStore(place(file, must_exist=False)) as store,
        MemoryServer(store, redact=redact, project=home, consent=consent) as memory,
    ):
        asyncio.run(run(memory))


async def run(memory: MemoryServer) -> None:
    """Serve until the host has left."""
    from tidings.mcp import serve_stdio

    server = mcp_server(memory)
    warm = asyncio.create_task(asyncio.to_thread(memory.store.warm_up))
    try:
        await serve_stdio(server)
    finally:
        await warm


def mcp_server(memory: MemoryServer) -> Server[Any]:
    """The memory as a server of the SDK.

    Raises:
        CallerError: the SDK is not installed.
    """
    try:
        from mcp.server.lowlevel import Server

        from tidings.mcp.conversation import ConversationServer
    except ImportError as error:
        raise CallerError("tidings memory serve needs the MCP SDK: pip install 'tidings[mcp]'") from error
    server: Server[Any] = Server(NAME, on_list_tools=_listed, on_call_tool=_caller(memory))
    keeps = memory.consent.user or memory.consent.assistant
    conversation = ConversationServer(server, history=True, purpose=KEEPING if keeps else PURPOSE)
    conversation.on_user_message(_answering(memory))
    if memory.consent.assistant:
        conversation.on_assistant_response(_hearing(memory))
    return server


async def _listed(_ctx: object, _params: object) -> ListToolsResult:
    from mcp_types import ListToolsResult, Tool, ToolAnnotations

    from tidings.memory.tools import TOOLS

    return ListToolsResult(
        tools=[
            Tool(
                name=tool.name,
                description=tool.description,
                input_schema=tool.schema,
                annotations=ToolAnnotations(
                    read_only_hint=tool.read_only,
                    destructive_hint=tool.name == "forget",
                    open_world_hint=False,
                ),
            )
            for tool in TOOLS
        ]
    )


def _caller(memory: MemoryServer) -> Callable[[object, CallToolRequestParams], Awaitable[CallToolResult]]:
    async def call(_ctx: object, params: CallToolRequestParams) -> CallToolResult:
        from mcp_types import CallToolResult, TextContent

        try:
            told = await asyncio.to_thread(memory.call, params.name, params.arguments or {})
        except TidingsError as error:
            return CallToolResult(content=[TextContent(text=str(error))], is_error=True)
        text = json.dumps(told, ensure_ascii=False)
        return CallToolResult(content=[TextContent(text=text)], structured_content=told)

    return call


def _answering(memory: MemoryServer) -> Callable[[UserMessage], list[Memory]]:
    from tidings.mcp.conversation import Memory
    from tidings.memory.answer import MOST_CHARS, MOST_ITEMS, Budget

    def answer(message: UserMessage) -> list[Memory]:
        budget = Budget(
            max_items=min(message.most_items or MOST_ITEMS, MOST_ITEMS),
            max_chars=min(message.most_bytes or MOST_CHARS, MOST_CHARS),
        )
        history = [{"role": turn.role, "content": turn.content} for turn in message.history]
        conversation = message.conversation or ""
        found = memory.user_message(
            message.content, history=history, conversation=conversation, budget=budget
        )
        return [Memory(item.content, item.relevance, _origin(item)) for item in found.items]

    return answer


def _hearing(memory: MemoryServer) -> Callable[[AssistantResponse], None]:
    def hear(response: AssistantResponse) -> None:
        memory.assistant_response(response.content, conversation=response.conversation or "")

    return hear


def _origin(item: Item) -> str:
    """Where a memory comes from and from when: the wire has one field for both."""
    return f"{item.source or 'memory'}, {item.date[:DATE]}"
