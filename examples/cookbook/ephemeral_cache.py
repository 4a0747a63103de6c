"""Provider-specific ephemeral cache hint: a cached user block where the route can keep it."""

import tidings as td

transcript = td.inject_reminder(
    td.Transcript(),
    body="Large policy excerpt applies for this turn only.",
    tags=["policy"],
    dedupe_key="policy:turn",
    ttl_turns=1,
    role_hint="ephemeral_cache",
    propagate="none",
).transcript
request = td.render("anthropic/claude-sonnet-4-5", messages="hi", reminders=transcript.pending)
block = request.body["messages"][0]["content"][0]
assert block["cache_control"] == {"type": "ephemeral"}
print(block)
