"""Your own agent loop with Tidings in it: the four numbered lines. Run: python examples/own_loop.py

`ask` stands for the model; with a vendor's SDK it is `client.messages.create(…, **request.body)`.
"""

import tidings as td

ROUTE = td.route("anthropic/claude-sonnet-4-5")


def ask(body):
    heard = "src/lib.rs changed" in body.get("system", "")
    return "Then I re-read src/lib.rs first." if heard else "Renamed everywhere. Done."


def run(task):
    transcript = td.append_message(td.Transcript(session_id="demo"), {"role": "user", "content": task})
    transcript = td.inject_reminder(transcript, body="src/lib.rs changed.", ttl_turns=1).transcript
    for turn in (1, 2):
        request = td.render(ROUTE, messages=transcript.messages, reminders=transcript.pending)  # 1
        answer = ask(request.body)  # 2
        transcript = td.mark_fired(transcript, request, turn=turn).transcript  # 3
        transcript = td.append_message(transcript, {"role": "assistant", "content": answer})
        transcript = td.post_turn(transcript, turn=turn).transcript  # 4
        print(f"turn {turn}: {len(request.fired)} shown, answer: {answer}")


if __name__ == "__main__":
    with td.open_log("sqlite:///own_loop.db") as log, td.active_log(log):
        run("Rename parse() to parse_line() everywhere.")
        print(*(record.kind for record in log.read("transcript.reminder.lifecycle")), sep="\n")
