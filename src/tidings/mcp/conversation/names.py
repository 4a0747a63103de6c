"""The words of conversation events on the MCP wire, in both forms (seed 003, decision 29). Data.

The proper form is a request under an extension, whose result is the context. The seed's literal form is a
notification that is answered by another one; it is spoken with servers that declare nothing else.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

EXTENSION = "dev.tidings/conversation-events"
"""The extension's id, in `capabilities.extensions`."""

CAPABILITY = "conversationEvents"
"""The seed's own key in `capabilities`."""

USER_MESSAGE = "conversation/userMessage"
CONTEXT = "conversation/context"
ASSISTANT_RESPONSE = "conversation/assistantResponse"

TAG = "conversation_context"
"""The tag by which injected context is found and cleared."""

Form: TypeAlias = Literal["request", "notification"]
Scope: TypeAlias = Literal["message", "history", "assistant"]

SCOPES: tuple[Scope, ...] = get_args(Scope)
"""What a user can grant: the current message, the recent history beside it, the assistant's answers."""

SEES: dict[Scope, str] = {
    "message": "the messages that you send",
    "history": "the recent history beside them",
    "assistant": "what the assistant answers",
}
"""What a server with a scope sees, in words for the one who grants it."""
