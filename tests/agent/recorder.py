"""A registry whose hooks write down every event they hear, and a loop that is played against it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, TypeVar

from tidings.agent.context import plain
from tidings.agent.events import EVENTS
from tidings.agent.registration import REGISTRARS
from tidings.agent.registry import Registry

T = TypeVar("T")
Answers = Mapping[str, object]


def bounded(work: Awaitable[T]) -> T:
    """Run `work` to its end, within the deadline of a test."""

    async def run() -> T:
        async with asyncio.timeout(30):
            return await work

    return asyncio.run(run())


class Recorder:
    """Hears everything. `answers` are what its hooks return, by event; a function gets the payload."""

    def __init__(self, answers: Answers | None = None) -> None:
        self.registry = Registry()
        self.heard: list[tuple[str, dict[str, Any]]] = []
        self._answers = answers or {}
        for event in EVENTS.values():
            if event.family == "tool":
                side = event.name.split("_", maxsplit=1)[0]
                self.registry.register_tool_hook(**{side: self._hook(event.name)})
            else:
                registrar = next(name for name, families in REGISTRARS.items() if event.family in families)
                getattr(self.registry, registrar)(event.name, self._hook(event.name))

    def _hook(self, event: str) -> Callable[[Any], Coroutine[Any, Any, object]]:
        async def hook(ctx: Any) -> object:
            told = plain(ctx)
            assert isinstance(told, dict)
            assert told.pop("event") == event
            if "session_id" not in EVENTS[event].payload:
                assert isinstance(told.pop("session_id"), str)
            if "arguments" in told:
                assert told.pop("args") == told["arguments"]
            self.heard.append((event, told))
            answer = self._answers.get(event)
            return answer(told) if callable(answer) else answer

        return hook

    @property
    def names(self) -> list[str]:
        """What was heard, in order."""
        return [name for name, _ in self.heard]

    def payloads(self, event: str) -> list[dict[str, Any]]:
        """What the hooks of `event` were told."""
        return [payload for name, payload in self.heard if name == event]
