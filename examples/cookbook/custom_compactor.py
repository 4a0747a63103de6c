"""Custom compactor reads reminders: it sees every survivor of ttl and dedupe."""

import tidings as td

transcript = td.Transcript(messages=[{"role": "user", "content": "hi"}] * 9)
for body, keep in (("keep this policy", True), ("only for now", False)):
    transcript = td.inject_reminder(transcript, body=body, ttl_turns=5, preserve_on_compact=keep).transcript


def summarise(messages, reminders):
    for reminder in reminders:
        print("active:", reminder.body)
    return [
        {"role": "user", "content": f"Summary of {len(messages)} messages, {len(reminders)} reminders."}
    ]


done = td.compact(transcript, strategy="custom", custom_compactor=summarise)
assert [reminder.body for reminder in done.transcript.pending] == ["keep this policy"]
print(done.transcript.messages[0]["content"])
