"""`tidings memory serve`: the memory as an MCP server: conversation events, and four tools.

The joining of `tidings.memory` with `tidings.mcp`: neither knows the other. What decides is in
`MemoryServer`.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from tidings.cli.lazy import command_app
from tidings.cli.memory.options import DATE, Everywhere, File, Project, place, project_name
from tidings.errors import CallerError, TidingsError
from tidings.memory.answer import Item
from tidings.memory.entry import LONGEST_NAME
from tidings.memory.eviction import MOST_SEEN
from tidings.memory.ingest import Consent
from tidings.memory.server import MOST_CONVERSATIONS, MemoryServer
from tidings.memory.store import MemoryStore

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server
    from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult

    from tidings.mcp.conversation import AssistantResponse, Memory, UserMessage

NAME = "tidings-memory"
PURPOSE = "Looks up what you told it to remember, and adds what fits your message."
KEEPING = "Looks up what it remembers, adds what fits your message, and keeps what is said on this machine."

Homes: TypeAlias = OrderedDict[str, str]
"""The project of each conversation."""

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
    most_seen: Annotated[
        int,
        typer.Option(
            "--most-seen", metavar="N", min=1, help="Keep so many seen messages; the oldest leave."
        ),
    ] = MOST_SEEN,
) -> None:
    """Be a memory for an MCP host, over stdin and stdout. A host starts this; it is not typed by hand.

    It answers conversation/userMessage with what fits, where the host's user agreed to that, and offers
    the tools remember, recall, forget and list. It keeps only what it is told to remember, unless
    --keep-user or --keep-assistant is given. Without --project or --everywhere a message is answered in the
    project that the host names, if it does.

    Exit code: 0 when the host closed, 2 if the MCP SDK is missing or the file cannot be opened.
    """
    from tidings.core.redaction import redact

    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="tidings: %(message)s")
    consent = Consent(user=keep_user, assistant=keep_assistant)
    home = project_name(project, everywhere)
    with (
        MemoryStore(place(file, must_exist=False), most_seen=most_seen) as store,
        MemoryServer(store, redact=redact, project=home, consent=consent) as memory,
    ):
        asyncio.run(run(memory, follows=project is None and not everywhere))


async def run(memory: MemoryServer, *, follows: bool = False) -> None:
    """Serve until the host has left; `follows`: in the project that each message names."""
    from tidings.mcp import serve_stdio

    server = mcp_server(memory, follows=follows)
    warm = asyncio.create_task(asyncio.to_thread(memory.store.warm_up))
    try:
        await serve_stdio(server)
    finally:
        await warm


def mcp_server(memory: MemoryServer, *, follows: bool = False) -> Server[Any]:
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
    homes: Homes = OrderedDict()
    conversation.on_user_message(_answering(memory, homes if follows else None))
    if memory.consent.assistant:
        conversation.on_assistant_response(_hearing(memory, homes))
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


def _answering(memory: MemoryServer, homes: Homes | None) -> Callable[[UserMessage], list[Memory]]:
    from tidings.mcp.conversation import Memory
    from tidings.memory.answer import MOST_CHARS, MOST_ITEMS, Budget

    def answer(message: UserMessage) -> list[Memory]:
        budget = Budget(
            max_items=min(message.most_items or MOST_ITEMS, MOST_ITEMS),
            max_chars=min(message.most_bytes or MOST_CHARS, MOST_CHARS),
        )
        history = [{"role": turn.role, "content": turn.content} for turn in message.history]
        conversation = message.conversation or ""
        project = message.project if homes is not None and is_name(message.project) else None
        if homes is not None and conversation and project is not None:
            _remember_home(homes, conversation, project)
        found = memory.user_message(
            message.content,
            history=history,
            conversation=conversation,
            already=message.already,
            budget=budget,
            project=project,
        )
        return [_memory(item) for item in found.items]

    def _memory(item: Item) -> Memory:
        return Memory(item.content, item.relevance, item.source or NAME, item.date[:DATE], item.id)

    return answer


def is_name(project: str | None) -> bool:
    """Whether a client named a project that memories can belong to."""
    return bool(project and project.strip()) and len(project or "") <= LONGEST_NAME


def _remember_home(homes: Homes, conversation: str, project: str) -> None:
    """Note where a conversation is held: an answer that is heard later does not say."""
    homes[conversation] = project
    homes.move_to_end(conversation)
    if len(homes) > MOST_CONVERSATIONS:
        homes.popitem(last=False)


def _hearing(memory: MemoryServer, homes: Homes) -> Callable[[AssistantResponse], None]:
    def hear(response: AssistantResponse) -> None:
        conversation = response.conversation or ""
        project = homes.get(conversation)
        memory.assistant_response(response.content, conversation=conversation, project=project)

    return hear
