"""Connect an MCP server to an agent and see what it says in the model's next request.

python examples/mcp_host.py                  # the build watcher beside this file, with a build that passes
python examples/mcp_host.py mcp.json         # the servers of a config file, listed
"""

import asyncio
import sys
from pathlib import Path

import tidings as td
from tidings.mcp import Server, Servers
from tidings.testing import ScriptedModel, call

WATCHER = Path(__file__).with_name("mcp_server.py")
OWN = [Server(name="build-watcher", command=(sys.executable, str(WATCHER), "true"))]
ALLOW = td.Gate([td.Rule("allow", "build-watcher__*")])


async def main(config):
    session = td.Session()
    async with Servers(config, session=session) as servers:
        for one in servers.status():
            print(f"{one.name}: {one.state}, {one.era}, reminders: {one.reminders} {one.reason}")
        tools = await servers.tools()
        print("tools:", ", ".join(tool.name for tool in tools))
        if config is OWN:
            await work(session, servers, tools)


async def work(session, servers, tools):
    model = ScriptedModel([call("build-watcher__edited", path="src/lib.rs"), "Edited.", "Still fine."])
    options = {"model": model, "session": session, "tools": tools, "approval": ALLOW}
    await td.agent_loop("Edit src/lib.rs.", **options)
    with session.listening() as news:
        while not servers["build-watcher"].accepted:
            news.clear()
            await news.wait()
    await td.agent_loop("Does it build?", **options)
    shown = [line for body in model.requests for text in texts(body) for line in text.splitlines()]
    print("the model saw:", *(line for line in shown if line.startswith("> ")))


def texts(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [text for item in value for text in texts(item)]
    return [value] if isinstance(value, str) else []


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else OWN))
