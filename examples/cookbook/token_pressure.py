"""Token-pressure thresholds: the canonical provider, told how large the window is."""

import asyncio

import tidings as td
from tidings.agent.port import Answer, Usage
from tidings.testing import ScriptedModel, call


@td.tool(read_only=True)
def look() -> str:
    """Look around."""
    return "nothing new"


busy = Answer(tool_calls=(call("look"),), usage=Usage(input_tokens=110_000), stop="tools")
model = ScriptedModel([busy, "done"])
settings = {"config": {"token_pressure": {"context_window": 128_000}}}
asyncio.run(td.agent_loop("work", model=model, tools=[look], reminders=settings))
assert "[85%] WARNING" in str(model.requests[1])
print("the second request says that the window is 85 % full")
