"""File-changed reminder from a hook: one pending nudge per file, however often it changes."""

import asyncio

import tidings as td
from tidings.testing import ScriptedModel

registry = td.Registry()


@registry.register_session_hook("file_edited")
def file_edited(event):
    return {
        "reminder": {
            "body": f"File changed externally: {event.path}. Re-read it before editing.",
            "tags": ["workspace", "file_changed"],
            "dedupe_key": f"file_changed:{event.path}",
            "ttl_turns": 2,
            "propagate": "session",
        }
    }


session = td.Session()
for _ in range(3):
    session.emit("file_edited", {"path": "src/lib.rs"})
model = ScriptedModel(["done"])
asyncio.run(td.agent_loop("work", model=model, session=session, registry=registry))
assert str(model.requests[0]).count("File changed externally: src/lib.rs") == 1
print("three changes, one reminder")
