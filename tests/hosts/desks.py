"""A hub in a test and the hooks of its hosts: events in, what the model is told out."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from tests.hosts.events import WORKSPACE, payload
from tests.hub.desks import Clock, file_hub, memory_hub
from tidings.core.reminder import Payload
from tidings.hosts.happening import Host
from tidings.hub import shapes


class Desk:
    """A hub on a clock that is moved by hand. Events take no time; a turn takes a second."""

    def __init__(self, host: Host = "claude-code", path: Path | None = None) -> None:
        self.host = host
        self.clock = Clock()
        self.path = path
        self.hub = memory_hub(self.clock) if path is None else file_hub(path, self.clock)

    def restart(self) -> None:
        """Another process of the hub, on the same file."""
        assert self.path is not None
        self.hub.store.log.close()
        self.hub = file_hub(self.path, self.clock)

    async def hook(self, event: str, session: str = "s1", **more: object) -> Payload:
        """What the host is answered."""
        self.clock.pass_seconds(1)
        answer = await self.hub.hosting.hook(self.host, payload(self.host, event, session, **more))
        await asyncio.sleep(0)
        return answer

    async def text(self, event: str, session: str = "s1", **more: object) -> str:
        """The news that an answer holds."""
        return news(await self.hook(event, session, **more))

    async def remind(self, body: str, **more: object) -> str:
        """Send a reminder to everybody in the workspace."""
        params: Payload = {"body": body, "to": {"workspace": WORKSPACE}, **more}
        origin = params.pop("origin", None)
        assert origin is None or isinstance(origin, str)
        return (await self.hub.remind(params, origin=origin)).reminder_id

    def records(self, kind: str) -> list[Payload]:
        """The payloads of the hub's records of one kind, in order."""
        return [one.payload for one in self.hub.store.log.read("hub") if one.kind == kind]

    def waiting(self, session: str = "s1") -> int:
        """How much waits for a session."""
        asked = shapes.Sessions()
        rows = {row.session_id: row for row in self.hub.sessions(asked).sessions}
        return rows[f"{self.host}:{session}"].waiting


def news(answer: Mapping[str, object]) -> str:
    """The text for the model in an answer of whatever host."""
    output = answer.get("hookSpecificOutput", {})
    assert isinstance(output, Mapping)
    request = output.get("llm_request", {})
    assert isinstance(request, Mapping)
    messages = request.get("messages", ())
    ours = [str(one["content"]) for one in messages][-1:]
    return "".join([str(output.get("additionalContext", "")), *ours, str(answer.get("text", ""))])


def declined(answer: Mapping[str, object]) -> bool:
    """Whether an answer refuses the call."""
    output = answer.get("hookSpecificOutput", {})
    assert isinstance(output, Mapping)
    verdicts = (output.get("permissionDecision"), answer.get("decision"))
    return "deny" in verdicts or "decline" in answer
