"""The conversation in a model's wire form, converted once as it grows; a run keeps one of these."""

from __future__ import annotations

from collections.abc import Sequence

from tidings.agent.port import Model
from tidings.core.messages import Message
from tidings.core.reminder import Payload


class WireMessages:
    """The conversation in the model's wire form, converted once as it grows.

    A longer conversation begins with the wire form of a shorter one that ended at a request, so that
    only what came since is converted; after a compaction everything is.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._known: Sequence[Message] = ()
        self._converted: list[Payload] = []

    def extended(self, messages: Sequence[Message]) -> list[Payload]:
        """The wire form of `messages`."""
        count = len(self._known)
        if count > len(messages) or (count and messages[count - 1] is not self._known[-1]):
            count, self._converted = 0, []
        self._converted = [*self._converted, *self._model.wire_messages(messages[count:])]
        self._known = messages
        return self._converted
