"""Processes for `bench_acp`: an agent that floods, and a client of the official SDK that listens.

python acp_flood.py agent COUNT [marked]
python acp_flood.py client COUNT
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

TEXT = "The quick brown fox jumps over the lazy dog, and the dog says nothing at all."


def line(message: dict[str, Any]) -> str:
    return json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")) + "\n"


def update(marked: bool) -> str:
    """One update of usual size; `marked` makes the interposer open it."""
    fields: dict[str, Any] = {
        "sessionUpdate": "agent_message_chunk",
        "content": {"type": "text", "text": TEXT},
    }
    if marked:
        fields["_meta"] = {"result": 1}
    return line({"method": "session/update", "params": {"sessionId": "s", "update": fields}})


def agent(count: int, marked: bool) -> None:
    """Answer everything; a prompt is answered after `count` updates."""
    results = {"initialize": {"protocolVersion": 1}, "session/new": {"sessionId": "s"}}
    for request in sys.stdin:
        message = json.loads(request)
        if message["method"] == "session/prompt":
            batch = update(marked) * 200
            for _ in range(count // 200):
                sys.stdout.write(batch)
        result = results.get(message["method"], {"stopReason": "end_turn"})
        sys.stdout.write(line({"id": message["id"], "result": result}))
        sys.stdout.flush()


async def client(count: int) -> None:
    """Read the flood with the SDK."""
    import acp

    class Listener(acp.Client):
        async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:  # noqa: ARG002
            self.last = update

    command = [sys.executable, __file__, "agent", str(count)]
    async with acp.spawn_agent_process(Listener(), *command) as (connection, _):
        await connection.initialize(protocol_version=1)
        await connection.new_session(cwd="/", mcp_servers=[])
        await connection.prompt(session_id="s", prompt=[acp.text_block("go")])


if __name__ == "__main__":
    role, number = sys.argv[1], int(sys.argv[2])
    if role == "agent":
        agent(number, "marked" in sys.argv)
    else:
        asyncio.run(client(number))
