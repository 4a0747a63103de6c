"""A conversation in its wire form that grows: each message is checked once, when it comes in.

`render` takes one in place of a list. A loop keeps it between two requests, so that a request costs what
its body costs and not another look at everything said before. It never changes a message.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tidings.core.messages import Message
from tidings.errors import CallerError
from tidings.rendering.plan import Planned
from tidings.rendering.route import Wire


class Conversation:
    """The messages so far, known to be objects; bodies are made of copies of the list.

    `planned` is what the last request did with the reminders.
    """

    def __init__(self, wire: Wire) -> None:
        self._wire: Wire = wire
        self._messages: list[Message] = []
        self.planned: Planned | None = None

    @property
    def messages(self) -> Sequence[Message]:
        """All of them, in order; the list grows with the conversation."""
        return self._messages

    def extend(self, more: object) -> None:
        """Add `more` at the end: all of it, or nothing.

        Raises:
            CallerError: it is no list, or holds something that is no object.
        """
        self._messages += checked(self._wire, more, len(self._messages))


def checked(wire: Wire, messages: object, first: int = 0) -> Sequence[Message]:
    """`messages` if it is a list of objects; `first` is the place of its first one.

    Raises:
        CallerError: naming what it is instead, and where.
    """
    if not isinstance(messages, (list, tuple)):
        raise CallerError(f"`messages` must be a list in the form of {wire}; got {messages!r:.80}")
    for index, message in enumerate(messages, first):
        if not isinstance(message, (dict, Mapping)):
            raise CallerError(f"`messages[{index}]` must be an object; got {message!r:.80}")
    return messages
