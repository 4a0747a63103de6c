"""A memory that surfaces by itself: an MCP server that answers user messages, and a loop that asks it.

python examples/conversation_server.py           # a loop asks it once; prints what the model was shown
python examples/conversation_server.py serve     # the server, over standard input and output
"""

import asyncio
import sys
import tempfile
from pathlib import Path

from mcp.server.mcpserver import MCPServer

import tidings as td
from tidings.mcp import Server, Servers, serve_stdio
from tidings.mcp.conversation import (
    ConsentStore,
    Conversations,
    ConversationServer,
    Grant,
    Memory,
    Settings,
    UserMessage,
    open_ledger,
    peers_of,
    target_of,
)
from tidings.testing import ScriptedModel

NOTES = {
    "database": "The schema is in db/schema.sql; migrations are in db/migrate.",
    "release": "Releases are cut on Thursdays, from the branch stable.",
}

server: MCPServer = MCPServer("notes", log_level="ERROR")
conversation = ConversationServer(server, purpose="finds your notes on what you ask about")


@conversation.on_user_message
def recall(message: UserMessage) -> list[Memory] | None:
    """The notes whose keyword stands in the message; None stays silent."""
    asked = message.content.lower()
    return [Memory(note, 0.9, f"notes/{word}.md") for word, note in NOTES.items() if word in asked] or None


async def main(folder: Path) -> None:
    notes = Server(name="notes", command=(sys.executable, __file__, "serve"))
    consents = ConsentStore(folder / "consent.json")  # yours is in your config folder: tidings consent list
    consents.grant(Grant(server="notes", target=target_of(notes)))

    session, registry = td.Session(), td.Registry()
    with open_ledger(folder / "ledger.db") as ledger:
        patient = Settings(deadline=10)
        async with (
            Conversations(session, consents=consents, ledger=ledger, settings=patient) as talk,
            Servers([notes], session=session, on_push=talk.heard) as servers,
        ):
            talk.join(registry, peers_of(servers))
            model = ScriptedModel(["In db/schema.sql."], route="anthropic/claude-opus-5")
            await td.agent_loop(
                "Where is the database schema?", model=model, session=session, registry=registry
            )
    print(model.requests[0]["messages"][0]["content"][0]["text"])


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        asyncio.run(serve_stdio(server))
    else:
        with tempfile.TemporaryDirectory() as place:
            asyncio.run(main(Path(place)))
