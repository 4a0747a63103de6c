"""The conversation in a model's wire form, converted once as it grows; a run keeps one of these.

A longer conversation begins with the wire form of a shorter one that ended at a request, so that only
what came since is converted and checked. When the messages known so far are not the beginning of the new
ones any more, as after a compaction, everything is.
"""

from __future__ import annotations

from tidings.agent.port import Model
from tidings.core.messages import MessageList
from tidings.rendering.conversation import Conversation


class WireMessages:
    """The conversation in the model's wire form."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._forget()

    def _forget(self) -> None:
        self._known = MessageList()
        self._converted = Conversation(self._model.route.wire)

    def extended(self, messages: MessageList) -> Conversation:
        """The wire form of `messages`."""
        if not messages.begins_with(self._known):
            self._forget()
        self._converted.extend(self._model.wire_messages(messages.after(len(self._known))))
        self._known = messages
        return self._converted
