"""Hubs for tests: on a clock that is moved by hand, in memory or in a file."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tidings.core.reminder import Payload
from tidings.hub import shapes
from tidings.hub.consents import Consents
from tidings.hub.rows import read_as
from tidings.hub.service import Hub
from tidings.hub.store import Store, open_store
from tidings.log import open_log

DEADLINE = 30


class Clock:
    """Milliseconds that pass when told to."""

    def __init__(self) -> None:
        self.now = 1_000_000

    def __call__(self) -> int:
        return self.now

    def pass_seconds(self, seconds: float) -> None:
        self.now += int(seconds * 1000)


NOBODY = Consents(Path(tempfile.mkdtemp(prefix="tidings-")))
"""Consents of nobody: tests leave the user's alone."""


def memory_hub(clock: Clock) -> Hub:
    return Hub(Store(open_log("memory:")), clock=clock, consents=NOBODY)


def file_hub(path: Path, clock: Clock) -> Hub:
    return Hub(open_store(path), clock=clock, consents=NOBODY)


async def register(hub: Hub, name: str, **more: object) -> shapes.RegisterAnswer:
    return await hub.register(read_as(shapes.Register, {"sessionId": name, **more}))


async def lease(hub: Hub, name: str, **more: object) -> list[str]:
    answer = await hub.lease(read_as(shapes.Lease, {"sessionId": name, **more}))
    return [row.reminder_id for row in answer.reminders]


async def acknowledge(hub: Hub, name: str, *ids: str) -> int:
    asked = read_as(shapes.Acknowledge, {"sessionId": name, "reminderIds": list(ids)})
    return (await hub.acknowledge(asked)).acknowledged


async def remind(hub: Hub, body: str, to: Payload, **more: object) -> str:
    return (await hub.remind({"body": body, "to": to, **more})).reminder_id
