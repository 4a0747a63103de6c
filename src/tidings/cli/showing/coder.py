"""The demo's agent: a script that does nothing without having heard of it.

It goes on reading while it waits for news, as an agent would that is busy elsewhere; what it does next
depends on the reminders that stand in its request. With a key in the environment a real model takes
its place (`chosen_model`).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Mapping, Sequence

from tidings.agent.models.scripted import ScriptedModel, call
from tidings.agent.port import Answer, ToolCall, ToolSpec
from tidings.cli.showing.ground import BROKEN, MENDED, SOURCE, TEST
from tidings.core.reminder import Payload

TASK = "Keep the tests of this folder green. You are told when they turn; when all pass, say so and stop."
SYSTEM = "You are a careful coding agent. You do not run commands."
MODELS: dict[str, str] = {
    "ANTHROPIC_API_KEY": "anthropic/claude-sonnet-4-5",
    "OPENAI_API_KEY": "openai/gpt-5",
    "GEMINI_API_KEY": "gemini/gemini-2.5-pro",
}
"""Which model plays the agent when there is a key for it."""
MODEL_VARIABLE = "TIDINGS_DEMO_MODEL"
"""Names another model, or `scripted`."""

PATIENCE_SECONDS = 90.0
"""How long the script looks around for news before it gives up."""
RED_SIGN = "fail"
CHANGE_SIGN = f"{SOURCE} changed"
GREEN_SIGNS = ("now passes", "passes again", "turned green")

_GONE = "Nothing more came; I stop here."


class Coder(ScriptedModel):
    """The scripted agent; each answer takes `pace` seconds, as a model would take its time."""

    def __init__(self, pace: float) -> None:
        self._pace = pace
        self._heard = ""
        self._story = self._steps()
        super().__init__([self._step], repeat=True)

    async def answer(
        self,
        body: Payload,
        tools: Sequence[ToolSpec] = (),
        on_text: Callable[[str], None] | None = None,
    ) -> Answer:
        """Take the next step, after a while."""
        await asyncio.sleep(self._pace)
        return await super().answer(body, tools, on_text)

    def _step(self, body: Payload) -> Answer:
        self._heard = _reminders(body)
        return next(self._story)

    def _steps(self) -> Iterator[Answer]:
        yield from self._until((RED_SIGN,), "I look around until I hear of the tests.")
        yield _does("A test fails. I look at it.", call("read_file", path=TEST))
        yield _does("Now the function.", call("read_file", path=SOURCE))
        yield from self._until((CHANGE_SIGN,), "I think about the wording of the greeting.")
        yield _does(f"{SOURCE} changed while I worked. I read it again.", call("read_file", path=SOURCE))
        yield _does(
            "The comma is missing. I mend it.", call("edit_file", path=SOURCE, old=BROKEN, new=MENDED)
        )
        yield from self._until(GREEN_SIGNS, "I look through the rest while the tests run.")
        yield Answer(text=f"The tests pass now. {SOURCE} greets with a comma and keeps the new `mark`.")
        while True:
            yield Answer(text="I was told something new. There is nothing to do for me; I wait.")

    def _until(self, signs: Sequence[str], saying: str) -> Iterator[Answer]:
        """Look around until one of the signs stands in a request."""
        for _ in range(int(PATIENCE_SECONDS / self._pace)):
            if any(sign in self._heard for sign in signs):
                return
            yield _does(saying, call("list_files", path="."))
        yield Answer(text=_GONE)


def _reminders(body: Payload) -> str:
    """What the request says beside the conversation: the messages that nobody typed and no tool gave."""
    messages = body.get("messages")
    told = messages if isinstance(messages, list) else []
    return "\n".join(str(one.get("content")) for one in told if _is_told(one))


def _is_told(message: object) -> bool:
    return isinstance(message, dict) and "system-reminder" in str(message.get("content"))


def _does(text: str, *calls: ToolCall) -> Answer:
    return Answer(text=text, tool_calls=calls, stop="tools")


def chosen_model(environ: Mapping[str, str] = os.environ) -> str | None:
    """The real model to play with, if there is a key for one; None for the script."""
    named = environ.get(MODEL_VARIABLE)
    if named:
        return None if named == "scripted" else named
    return next((model for key, model in MODELS.items() if environ.get(key)), None)
