"""One prompt run to its end: the loop's options from the settings, its result in the protocols' words.

Called by `session.py`; the settings are made by the commands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from tidings.agent.happenings import ReminderSettings
from tidings.agent.loop import Task, agent_loop, project_recall
from tidings.agent.models.forms import Block
from tidings.agent.port import Answer, Model, ToolSpec, Usage
from tidings.agent.providers.facts import Recall
from tidings.agent.registry import Registry
from tidings.agent.result import Compaction, LoopResult, OnText, Status
from tidings.agent.session import Session
from tidings.agent.tools.approval import Gate
from tidings.agent.tools.tool import Tool
from tidings.agent.tools.workspace import workspace_tools
from tidings.bridge.rpc import INTERNAL_ERROR, RpcError
from tidings.bridge.served.membership import Join
from tidings.bridge.served.neighbours import Connect
from tidings.core.mailbox import UserMessage
from tidings.core.messages import Message
from tidings.core.reminder import Payload
from tidings.log.port import EventLog
from tidings.rendering.route import Route

SYSTEM = (
    "You are a coding agent. You work in the folder {root}; the paths of your tools are relative to it. "
    "Read before you change, keep to what was asked, and say in the end what you did and what you did not."
)
STOP_REASONS: dict[Status, str] = {
    "done": "end_turn",
    "idle": "end_turn",
    "suspended": "end_turn",
    "cut_short": "max_tokens",
    "budget_exhausted": "max_turn_requests",
    "blocked": "refusal",
    "cancelled": "cancelled",
}
"""How a loop ended, in the words of ACP; `failed` is an error instead."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What all sessions of a connection share. `system` may name the folder as `{root}`."""

    model: Model
    log: EventLog
    system: str = SYSTEM
    tools: Callable[[Path], Sequence[Tool]] = workspace_tools
    registry: Registry = msgspec.field(default_factory=Registry)
    reminders: ReminderSettings = None
    compaction: Compaction | None = Compaction()
    max_iterations: int = 200
    connect: Connect | None = None
    join: Join | None = None


class Asked(msgspec.Struct, frozen=True):
    """A user's prompt in the loop's neutral form."""

    content: str | list[Block]


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """How a prompt ended. `streamed` says whether `text` was heard already."""

    stop_reason: str
    text: str = ""
    usage: Usage = Usage()
    streamed: bool = True
    used: int = 0
    window: int = 0


class Heeded:
    """A model that remembers how its last answer stopped and what it used."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.last: Answer | None = None

    @property
    def route(self) -> Route:
        """What it can take."""
        return self._model.route

    def wire_messages(self, messages: Sequence[Message]) -> list[Payload]:
        """The loop's neutral messages in the wire's own form."""
        return self._model.wire_messages(messages)

    async def answer(
        self, body: Payload, tools: Sequence[ToolSpec] = (), on_text: OnText | None = None
    ) -> Answer:
        """Send a rendered request.

        Raises:
            ModelError: no usable answer.
        """
        self.last = await self._model.answer(body, tools, on_text)
        return self.last


async def run_prompt(
    asked: Asked, session: Session, settings: Settings, tools: Iterable[Tool], gate: Gate, say: OnText
) -> Ended:
    """Work on `asked` until the model is done and no words of the user wait any more.

    Raises:
        RpcError: the model failed.
        TidingsError: the loop could not start.
    """
    root = Path(session.anchor or ".")
    model = Heeded(settings.model)

    async def run(task: Task | None) -> LoopResult:
        return await agent_loop(
            task,
            settings.system.replace("{root}", str(root)),
            model=model,
            tools=kept,
            session=session,
            reminders=settings.reminders,
            registry=settings.registry,
            max_iterations=settings.max_iterations,
            approval=gate,
            compaction=settings.compaction,
            workspace=root,
            recall=recall_in(root),
            on_text=say,
        )

    kept = tuple(tools)
    result = await run(asked.content)
    usage = result.usage
    while result.status == "done" and _words_wait(session):
        result = await run(None)
        usage += result.usage
    return _ended(result, usage, model)


def _words_wait(session: Session) -> bool:
    """Whether the user said more while the loop was ending; it belongs to this prompt."""
    items = session.stored.mailbox.items
    return any(isinstance(item.what, UserMessage) and item.mode != "audit_only" for item in items)


def _ended(result: LoopResult, usage: Usage, model: Heeded) -> Ended:
    if result.status == "failed":
        text = f"the model gave no usable answer: {result.error}"
        raise RpcError(INTERNAL_ERROR, text, {"reason": "model_failed"})
    last = model.last
    return Ended(
        stop_reason=STOP_REASONS[result.status],
        text=result.text,
        usage=usage,
        streamed=last is not None,
        used=last.usage.input_tokens + last.usage.output_tokens if last is not None else 0,
        window=(model.route.context_window or 0) if last is not None else 0,
    )


def recall_in(here: Path) -> Recall:
    """What `project_facts` asks: the facts of the project in `here`, or in the root that is configured."""

    def recall(query: str, *, root: str | None = None, **options: Any) -> object:
        return project_recall(query, root=str(here if root is None else here / root), **options)

    return recall
