"""A program on the Claude Agent SDK that hears from the hub. Run: python claude_agent.py "Fix the tests."

It needs `pip install 'tidings[claude,hub]'`, a key or a login of Claude Code, and a hub: `tidings up`.
While it works, run in another terminal, in the same folder: tidings remind "The build is red."
"""

import asyncio
import sys

from claude_agent_sdk import AssistantMessage, ClaudeAgentOptions, ClaudeSDKClient, TextBlock

from tidings.hub import agent_sdk


async def main(task):
    options = ClaudeAgentOptions(allowed_tools=["Read", "Edit", "Write", "Bash"])
    async with ClaudeSDKClient(agent_sdk.connect(options)) as client:
        await client.query(task)
        async for message in client.receive_response():
            if isinstance(message, AssistantMessage):
                print(*(block.text for block in message.content if isinstance(block, TextBlock)))


if __name__ == "__main__":
    asyncio.run(main(" ".join(sys.argv[1:]) or "Say what you see in this folder."))
