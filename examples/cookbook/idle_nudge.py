"""Host-injected idle workspace nudge: ambient context from a host, not the user's words."""

import asyncio

import tidings as td
from tidings.testing import ScriptedModel

session = td.Session()
session.remind(
    {
        "body": "Dependencies changed while the agent was idle; rerun the narrow test before continuing.",
        "tags": ["workspace", "deps"],
        "dedupe_key": "workspace:deps",
        "ttl_turns": 1,
        "propagate": "none",
        "mode": "finish_step",
    }
)
model = ScriptedModel(["done"])
result = asyncio.run(td.agent_loop("go on", model=model, session=session))
assert "Dependencies changed" in str(model.requests[0])
assert all("Dependencies" not in str(message) for message in result.transcript.messages)
print("the model was told; the messages hold only what people said")
