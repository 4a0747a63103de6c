"""Clear stale reminders after the condition resolves: by key for one, by tag for a group."""

import tidings as td

transcript = td.Transcript()
for key in ("workspace-change", "deps"):
    transcript = td.inject_reminder(
        transcript, body=f"{key} happened", dedupe_key=key, tags=["workspace"], ttl_turns=5
    ).transcript
one = td.clear_reminders(transcript, dedupe_key="workspace-change")
rest = td.clear_reminders(one.transcript, tag="workspace")
assert (one.removed_count, rest.removed_count, rest.transcript.pending) == (1, 1, [])
print("nothing is pending any more")
