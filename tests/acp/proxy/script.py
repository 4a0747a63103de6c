"""A relay played as a script: messages in, messages out, time by hand. No processes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tidings.acp.proxy.interposer import Interposer
from tidings.acp.proxy.relay import Relay, Settings
from tidings.log.port import EventLog

Message = dict[str, Any]


def line(message: Message) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"


def messages(data: bytes) -> list[Message]:
    found = [json.loads(one) for one in data.splitlines()]
    for message in found:
        message.pop("jsonrpc", None)
    return found


class Script:
    """An editor and an agent, both played by the test."""

    def __init__(self, log: EventLog | None = None, *, rfc: bool = True) -> None:
        self._to_editor = bytearray()
        self._to_agent = bytearray()
        self.timers: list[tuple[float, Callable[[], None]]] = []
        self.reports: list[str] = []
        settings = Settings(self._later, log, rfc, self.reports.append)
        self.relay = Relay(self._to_editor.extend, self._to_agent.extend, settings)
        self._ids = 0

    @property
    def interposer(self) -> Interposer:
        return self.relay.interposer

    def _later(self, seconds: float, then: Callable[[], None]) -> None:
        self.timers.append((seconds, then))

    def to_editor(self) -> list[Message]:
        """What the editor got since the last look."""
        found = messages(bytes(self._to_editor))
        self._to_editor.clear()
        return found

    def to_agent(self) -> list[Message]:
        """What the agent got since the last look."""
        found = messages(bytes(self._to_agent))
        self._to_agent.clear()
        return found

    def editor(self, method: str, params: Message, *, id: object = None) -> object:
        """The editor asks; gives the id."""
        self._ids += 1
        chosen = self._ids if id is None else id
        self.relay.from_editor.feed(line({"id": chosen, "method": method, "params": params}))
        return chosen

    def notify(self, method: str, params: object) -> None:
        """The editor sends a notification."""
        self.relay.from_editor.feed(line({"method": method, "params": params}))

    def agent(self, message: Message) -> None:
        """The agent sends something."""
        self.relay.from_agent.feed(line(message))

    def update(self, session_id: str, **fields: object) -> None:
        """The agent sends an update."""
        self.agent({"method": "session/update", "params": {"sessionId": session_id, "update": fields}})

    def chunk(self, text: str, session_id: str = "s1", kind: str = "agent_message_chunk") -> None:
        """The agent sends a piece of text."""
        self.update(session_id, sessionUpdate=kind, content={"type": "text", "text": text})

    def open(
        self,
        *sessions: str,
        client: Message | None = None,
        result: Message | None = None,
        fresh: bool = False,
    ) -> Script:
        """Shake hands and open `sessions`, loaded unless `fresh`; nothing of it is left to look at."""
        hello = self.editor("initialize", {"protocolVersion": 1, "clientCapabilities": client or {}})
        self.agent(
            {"id": hello, "result": {"protocolVersion": 1, "agentCapabilities": {}, **(result or {})}}
        )
        for name in sessions:
            asked = self.editor("session/new" if fresh else "session/load", {"sessionId": name})
            self.agent({"id": asked, "result": {"sessionId": name} if fresh else {}})
        self.to_editor(), self.to_agent()
        return self

    def remind(self, body: str, session_id: str = "s1", **fields: object) -> Message:
        """The editor sends a reminder; gives the reply."""
        asked = self.editor("session/inject_reminder", {"sessionId": session_id, "body": body, **fields})
        return next(reply for reply in self.to_editor() if reply.get("id") == asked)

    def prompt(self, text: str = "hello", session_id: str = "s1") -> tuple[object, list[Message]]:
        """The editor prompts; gives the id, and the blocks that the agent got."""
        blocks = [{"type": "text", "text": text}]
        asked = self.editor("session/prompt", {"sessionId": session_id, "prompt": blocks})
        (sent,) = self.to_agent()
        return asked, sent["params"]["prompt"]

    def answer(self, asked: object) -> list[Message]:
        """The agent answers a prompt; gives what the editor got."""
        self.agent({"id": asked, "result": {"stopReason": "end_turn"}})
        return self.to_editor()

    def turn(self, text: str = "hello", session_id: str = "s1") -> list[str]:
        """A whole prompt; gives the texts that were added to it."""
        asked, blocks = self.prompt(text, session_id)
        self.answer(asked)
        return [block["text"] for block in blocks[1:]]


def wrapped(*sections: str) -> str:
    """Our block with these sections."""
    opening = "<system-reminder>\nAdded by tidings, not written by the user. Reported to this session:"
    return opening + "".join(f"\n\n{section}" for section in sections) + "\n</system-reminder>"


def from_editor(body: str) -> str:
    """A section of the editor's."""
    return f"From the editor:\n{body}"


TAKES = {"_meta": {"harn": {"reminders": {"emit": True}}}}
"""The capabilities of an editor that reads reminder updates."""

STEERS = {"_meta": {"steering": {"supported": True}}}
"""The handshake of an agent that can be steered."""
