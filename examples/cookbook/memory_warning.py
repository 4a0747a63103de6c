"""Memory-derived reminder: a caution that goes down to every sub-agent."""

import tidings as td

parent = td.inject_reminder(
    td.Transcript(agent_id="parent"),
    body="Customer prefers patch-sized PRs and explicit verification.",
    tags=["memory"],
    dedupe_key="memory:customer-pr-style",
    ttl_turns=4,
    preserve_on_compact=True,
    propagate="all",
    role_hint="developer",
).transcript
child = td.receive_handoff(td.Transcript(agent_id="child"), td.handoff(parent)).transcript
grandchild = td.receive_handoff(td.Transcript(agent_id="grandchild"), td.handoff(child)).transcript
assert grandchild.pending[0].originating_agent_id == "parent"
print("the grandchild knows:", grandchild.pending[0].body)
