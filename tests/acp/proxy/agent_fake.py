"""A small ACP agent for tests, without any SDK: `python agent_fake.py [word …]`.

Words: `steering` advertises it, `native` takes reminders itself, `stubborn` ignores the end of its input,
`claude`, `opencode` and `codex` choose how history is replayed. What a prompt's first text says decides
what happens: `error`, `die`, `wait` (until steered or cancelled), `compact`. Every answer carries
what the agent saw, under `_meta.seen`.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any

Message = dict[str, Any]
WORDS = set(sys.argv[1:])
HISTORY: list[list[Message]] = []
WAITING: list[Message] = []


def send(message: Message) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def update(session_id: str, **fields: Any) -> None:
    send({"method": "session/update", "params": {"sessionId": session_id, "update": fields}})


def chunk(session_id: str, kind: str, content: Message) -> None:
    update(session_id, sessionUpdate=kind, content=content)


def initialize(message: Message) -> None:
    result: Message = {
        "protocolVersion": message["params"]["protocolVersion"],
        "agentCapabilities": {"loadSession": True},
        "_meta": {"seen": message["params"], "door": os.environ.get("TIDINGS_SOCKET")},
    }
    if "steering" in WORDS:
        result["_meta"]["steering"] = {"supported": True}
    if "native" in WORDS:
        result["agentCapabilities"]["reminders"] = {"inject": True, "emit": True}
    send({"id": message["id"], "result": result})


def load(message: Message) -> None:
    session_id = message["params"]["sessionId"]
    for prompt in HISTORY:
        texts = [block["text"] for block in prompt]
        if "codex" in WORDS:
            content = {"type": "text", "text": "\n".join(texts)}
            chunk(session_id, "user_message_chunk", content)
            continue
        for block in prompt:
            ours = block["text"].startswith("<system-reminder>")
            if not (ours and "claude" in WORDS):
                chunk(session_id, "user_message_chunk", block)
    send({"id": message["id"], "result": {}})


def prompt(message: Message) -> None:
    session_id, blocks = message["params"]["sessionId"], message["params"]["prompt"]
    said = blocks[0]["text"]
    if said == "die":
        os._exit(7)
    if said == "error":
        send({"id": message["id"], "error": {"code": -32603, "message": "no luck"}})
        return
    HISTORY.append(blocks)
    if said == "wait":
        WAITING.append(message)
        chunk(session_id, "agent_message_chunk", {"type": "text", "text": "waiting"})
        return
    if said == "compact":
        update(session_id, sessionUpdate="compaction_update", compactionId="c1", status="completed")
    chunk(session_id, "agent_message_chunk", {"type": "text", "text": "ok"})
    answer(message, blocks)


def answer(message: Message, seen: list[Message], reason: str = "end_turn") -> None:
    send({"id": message["id"], "result": {"stopReason": reason, "_meta": {"seen": seen}}})


def steer(message: Message) -> None:
    if not WAITING:
        send({"id": message["id"], "result": {"outcome": "promptRequired"}})
        return
    waiting = WAITING.pop(0)
    send({"id": message["id"], "result": {"outcome": "injected"}})
    chunk(message["params"]["sessionId"], "agent_message_chunk", {"type": "text", "text": "steered"})
    answer(waiting, [*waiting["params"]["prompt"], *message["params"]["prompt"]])


def revoke(message: Message) -> None:
    """What is named `red` is still queued; everything else was delivered."""
    name = message["params"]["reminderId"]
    if name == "red":
        send({"id": message["id"], "result": {"status": "revoked", "reminderId": name}})
        return
    late = {"code": -32602, "message": "too late", "data": {"reason": "already_delivered"}}
    send({"id": message["id"], "error": late})


def serve(message: Message) -> None:
    method = message.get("method")
    if method == "initialize":
        initialize(message)
    elif method == "session/new":
        send({"id": message["id"], "result": {"sessionId": f"s{message['id']}"}})
    elif method == "session/load":
        load(message)
    elif method == "session/prompt":
        prompt(message)
    elif method == "session/cancel" and WAITING:
        answer(WAITING.pop(0), [], "cancelled")
    elif method == "_session/steering" and "steering" in WORDS:
        steer(message)
    elif method == "session/inject_reminder" and "native" in WORDS:
        send({"id": message["id"], "result": {"reminderId": "native-1", "seen": message["params"]}})
    elif method == "session/revoke_reminder" and "native" in WORDS:
        revoke(message)
    elif method == "session/clear_reminders" and "native" in WORDS:
        send({"id": message["id"], "result": {"removedCount": 2}})
    elif method is not None and "id" in message:
        send({"id": message["id"], "error": {"code": -32601, "message": f"unknown {method}"}})


if __name__ == "__main__":
    for line in sys.stdin:
        serve(json.loads(line))
    if "stubborn" in WORDS:
        signal.pause()
