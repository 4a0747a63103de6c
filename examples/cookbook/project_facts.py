"""Project facts at session start: store a decision once, and every later session is told of it."""

import asyncio
import tempfile
from pathlib import Path

import tidings as td
from tidings.testing import ScriptedModel

with tempfile.TemporaryDirectory() as folder, td.facts_store(Path(folder) / "facts.db"):
    td.store_fact(
        kind="Decision",
        claim="Build cancels in-flight tool calls on SIGINT before clearing state.",
        confidence=0.92,
        evidence=[{"kind": "FileRange", "ref": "crates/harn-vm/src/cancel.rs:1"}],
    )
    model = ScriptedModel(["done"])
    settings = {
        "config": {"project_facts": {"max_facts": 8, "min_confidence": 0.6, "kind_filter": ["decision"]}}
    }
    asyncio.run(td.agent_loop("How does the build cancel tool calls?", model=model, reminders=settings))
assert "Build cancels in-flight tool calls" in str(model.requests[0])
print("the first request holds the stored decision")
