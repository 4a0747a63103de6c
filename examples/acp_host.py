"""Start an ACP agent, remind it, and watch what becomes of the reminder. Run: python examples/acp_host.py

Without arguments it starts Tidings' own agent with a scripted model. Or name any other:
python examples/acp_host.py opencode acp
"""

import asyncio
import sys
from pathlib import Path

from tidings.acp import Client, Deadlines, Emitted, Host

TIDINGS = Path(sys.executable).with_name("tidings")
OWN_AGENT = [str(TIDINGS), "acp", "--model", "scripted:done", "--log", "memory:"]


def ask(request):
    print(f"permission: {request.tool_call.get('title')}: refused")
    return request.first("reject_once")


async def main(command):
    client = Client(name="acp-host-example", permission=ask, fallback="user_message")
    async with Host.start(command, client=client, deadlines=Deadlines(prompt=120)) as host:
        print("takes reminders:", host.reminders is not None and host.reminders.inject)
        session = await host.new_session(Path.cwd())
        with session.reminders() as events:
            reminded = await session.remind(
                "src/lib.rs changed on disk.", tags=["workspace"], dedupe_key="src/lib.rs", ttl_turns=1
            )
            print("delivery:", reminded.delivery, "lowered:", reminded.lowered)
            answer = await session.prompt("Rename parse() to parse_line() everywhere.")
        print("answer:", answer.text, f"({answer.stop_reason})")
        async for event in events:
            if event.reminder_id == reminded.reminder_id:
                name = type(event).__name__.lower()
                print("reminder", name, event.body if isinstance(event, Emitted) else "")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:] or OWN_AGENT))
