"""A memory on the official SDK, to be asked in a process of its own or in this one.

    python -m tests.mcp.conversation.server proper|literal FILE

It knows one thing, and writes what it is sent into FILE, one JSON object a line. `literal` declares nothing
but the seed's own capability.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import msgspec
from mcp.server.lowlevel import Server

from tidings.mcp import Reminders, serve_stdio
from tidings.mcp.conversation.answering import AssistantResponse, ConversationServer, Memory, UserMessage
from tidings.mcp.conversation.names import CAPABILITY, EXTENSION


def memory(form: str, seen: Path) -> Server[Any]:
    """The server; it has reminders too, so that both stand beside each other."""
    server: Server[Any] = Server("memory", version="1")
    Reminders(server)
    conversation = ConversationServer(server, history=True, purpose="recalls the schema")

    def write(what: msgspec.Struct) -> None:
        with seen.open("a") as file:
            file.write(json.dumps({type(what).__name__: msgspec.to_builtins(what)}) + "\n")

    @conversation.on_user_message
    async def recall(message: UserMessage) -> list[Memory] | None:
        write(message)
        return (
            [Memory("The schema has 12 tables.", 0.9, "notes.md")] if "schema" in message.content else None
        )

    @conversation.on_assistant_response
    def hear(response: AssistantResponse) -> None:
        write(response)

    if form == "literal":
        server.middleware.insert(0, literally)
    return server


async def literally(ctx: Any, call_next: Any) -> Any:
    """Declare only what the seed knows."""
    result = await call_next(ctx)
    if ctx.method in ("initialize", "server/discover"):
        extensions = result["capabilities"].pop("extensions", {})
        extensions.pop(EXTENSION, None)
        told = {"onUserMessage": True, "onAssistantResponse": True}
        result["capabilities"] |= {"extensions": extensions, CAPABILITY: told}
    return result


if __name__ == "__main__":
    asyncio.run(serve_stdio(memory(sys.argv[1], Path(sys.argv[2]))))
