"""What was seen, as memories: messages of a conversation, when whoever said them agreed to that.

Off unless allowed, separately for what the user says and for what the assistant answers. What says nothing
is left out, what is too long is cut, what looks like a secret is not kept. Nothing here waits; the server
hands the result to the store in the background.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import msgspec

from tidings.memory.entry import TOLD, Role
from tidings.memory.failure import MemoryInputError
from tidings.memory.words import content, words

Redact: TypeAlias = Callable[[str], str]
"""Gives a text without its secrets; a text without any comes back as it was."""

LONGEST_SEEN = 4_000
"""Characters of a message that are kept."""

SAID = ("text", "source", "key", "tags", "conversation")
"""The fields in which a secret may hide."""

FEWEST_WORDS = 4
"""A message with fewer words of content is not kept."""


class Consent(msgspec.Struct, frozen=True, kw_only=True):
    """What may be kept of what is seen; nothing, unless said."""

    user: bool = False
    assistant: bool = False

    def allows(self, role: Role) -> bool:
        """Whether messages of this role may be kept."""
        return self.user if role == "user" else self.assistant


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """A message to be kept: the options of `remember`, or why it is not kept."""

    options: dict[str, object] = {}
    left_out: str = ""


def see(
    text: str, role: Role, *, consent: Consent, redact: Redact, conversation: str = "", project: str = ""
) -> Seen:
    """What to keep of a message."""
    if not consent.allows(role):
        return Seen(left_out="no consent")
    if len(content(words(text[:LONGEST_SEEN]))) < FEWEST_WORDS:
        return Seen(left_out="says too little")
    if looks_secret(text, redact):
        return Seen(left_out="looks like a secret")
    kept = text if len(text) <= LONGEST_SEEN else text[: LONGEST_SEEN - 4].rstrip() + " […]"
    told = {"text": kept, "role": role, "kind": "turn", "project": project, "conversation": conversation}
    return Seen(options=dict(told))


def refuse_secrets(options: Mapping[str, object], redact: Redact) -> None:
    """Refuse to remember what looks like a secret; whoever means it says `force`.

    Raises:
        MemoryInputError: with every field that does.
    """
    fix = "leave the secret out, or say `force` to remember it as it is"
    found = [name for name in SAID if any(looks_secret(text, redact) for text in _texts(options.get(name)))]
    if found:
        raise MemoryInputError(
            "remember", tuple(f"`{name}` holds what looks like a secret; {fix}" for name in found)
        )


def refuse_seen(kind: object) -> None:
    """Refuse to be told what only the memory itself may say: that it saw something.

    Raises:
        MemoryInputError: the kind is `turn`.
    """
    if kind == "turn":
        problem = f"`kind` must be one of {', '.join(TOLD)}; 'turn' is for messages that were seen"
        raise MemoryInputError("remember", (problem,))


def _texts(value: object) -> list[str]:
    values = value if isinstance(value, (list, tuple)) else [value]
    return [text for text in values if isinstance(text, str)]


def looks_secret(text: str, redact: Redact) -> bool:
    """Whether the redactor would take something out of `text`."""
    return redact(text) != text
