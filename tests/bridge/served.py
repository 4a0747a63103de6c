"""A host for tests: talks lines with a served connection in this process, and keeps every line it hears."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import tidings as td
from tidings.agent.models.scripted import ScriptedModel, Step
from tidings.agent.port import Answer, ToolSpec
from tidings.bridge.served.run import Settings
from tidings.core.reminder import Payload

DEADLINE = 20.0

Message = dict[str, Any]
Serve = Callable[[Any, Any, Settings], Awaitable[None]]


class HeldModel(ScriptedModel):
    """A scripted model whose answers wait for `release`, one by one; `reached` counts the requests."""

    def __init__(self, steps: Sequence[Step]) -> None:
        super().__init__(steps)
        self.arrived = asyncio.Semaphore(0)
        self.leave = asyncio.Semaphore(0)

    async def answer(
        self,
        body: Payload,
        tools: Sequence[ToolSpec] = (),
        on_text: Callable[[str], None] | None = None,
    ) -> Answer:
        self.arrived.release()
        await self.leave.acquire()
        return await super().answer(body, tools, on_text)

    async def reached(self) -> None:
        """Wait until a request has come in."""
        async with asyncio.timeout(DEADLINE):
            await self.arrived.acquire()

    def release(self) -> None:
        """Let one answer go."""
        self.leave.release()


def settings(model: Any, log: td.log.EventLog | None = None, **options: Any) -> Settings:
    return Settings(model=model, log=log or td.open_log("memory:"), reminders=False, **options)


class Host:
    """One connection. `permit` answers permission requests: an option id, None to cancel, or a function."""

    def __init__(self, serve: Serve, given: Settings) -> None:
        self._serve = serve
        self._settings = given
        self._inbox: asyncio.Queue[bytes] = asyncio.Queue()
        self._news = asyncio.Event()
        self._numbers = iter(range(1, 10_000))
        self.lines: list[Message] = []
        self.methods: dict[Any, str] = {}
        self.permit: str | None = "allow_once"
        self.answers_permissions = True

    async def __aenter__(self) -> Self:
        self.task = asyncio.ensure_future(self._serve(self._inbox.get, self._hear, self._settings))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close our side and wait until the connection has ended."""
        self._inbox.put_nowait(b"")
        async with asyncio.timeout(DEADLINE):
            await self.task

    async def _hear(self, data: bytes) -> None:
        for line in data.splitlines():
            message = json.loads(line)
            self.lines.append(message)
            if message.get("method") == "session/request_permission" and self.answers_permissions:
                self.answer_permission(message["id"])
        self._news.set()

    def answer_permission(self, number: object) -> None:
        outcome: Message = {"outcome": "cancelled"}
        if self.permit is not None:
            outcome = {"outcome": "selected", "optionId": self.permit}
        self.say({"id": number, "result": {"outcome": outcome}})

    def raw(self, data: bytes) -> None:
        """Send bytes as they are."""
        self._inbox.put_nowait(data)

    def say(self, message: Message) -> None:
        """Send a message."""
        self.raw(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def tell(self, method: str, **params: Any) -> None:
        """Send a notification."""
        self.say({"method": method, "params": params})

    def begin(self, method: str, **params: Any) -> int:
        """Send a request; gives its id."""
        number = next(self._numbers)
        self.methods[number] = method
        self.say({"id": number, "method": method, "params": params})
        return number

    def at_once(self, *calls: tuple[str, Message]) -> list[int]:
        """Send several requests in one piece; gives their ids."""
        numbers = [next(self._numbers) for _ in calls]
        self.methods |= {number: method for number, (method, _) in zip(numbers, calls, strict=True)}
        lines = [
            json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
            for number, (method, params) in zip(numbers, calls, strict=True)
        ]
        self.raw("\n".join([*lines, ""]).encode())
        return numbers

    async def reply(self, number: object) -> Message:
        """The answer to a request, result or error."""
        return await self.heard(lambda m: "method" not in m and m.get("id") == number)

    async def ask(self, method: str, **params: Any) -> Any:
        """The result of a request."""
        answer = await self.reply(self.begin(method, **params))
        assert "error" not in answer, answer
        return answer["result"]

    async def refused(self, method: str, **params: Any) -> Message:
        """The error of a request."""
        answer = await self.reply(self.begin(method, **params))
        error: Message = answer["error"]
        return error

    async def heard(self, wanted: Callable[[Message], bool], count: int = 1) -> Message:
        """The `count`-th line that is `wanted`, now or when it comes."""
        async with asyncio.timeout(DEADLINE):
            while True:
                found = [line for line in self.lines if wanted(line)]
                if len(found) >= count:
                    return found[count - 1]
                self._news.clear()
                await self._news.wait()

    def updates(self, *kinds: str) -> list[Message]:
        """The updates so far, of these kinds or all."""
        found = [line["params"]["update"] for line in self.lines if line.get("method") == "session/update"]
        return [update for update in found if not kinds or update["sessionUpdate"] in kinds]

    def text(self) -> str:
        """All that the agent said."""
        return "".join(update["content"]["text"] for update in self.updates("agent_message_chunk"))


def records(log: td.log.EventLog, kind: str) -> list[Payload]:
    """The lifecycle records of a kind."""
    found = log.read("transcript.reminder.lifecycle", kind_prefix=f"transcript.reminder.{kind}")
    return [record.payload for record in found]


def folder(tmp_path: Path) -> str:
    place = tmp_path / "work"
    place.mkdir(exist_ok=True)
    return str(place.resolve())
