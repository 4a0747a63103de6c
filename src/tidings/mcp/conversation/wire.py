"""Conversation events as they stand on the wire, written and read. Pure.

A server says what it wants (`Offer`), a client sends a message and the granted part of the history, a
server answers with context. Whatever comes back (`context`, `structuredContext.memories`, `items`)
becomes `Item`s: bounded, without control characters, and in no way trusted.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence

import msgspec

from tidings.core.reminder import Payload
from tidings.mcp.conversation.names import CAPABILITY, EXTENSION, Form, Scope

MOST_ITEMS = 64
"""How many items of one answer are looked at."""

LONGEST_ITEM = 8 * 1024
"""Characters of one item that are looked at."""

LONGEST_SOURCE = 200
LONGEST_ID = 200
LONGEST_DATE = 40
MOST_ALREADY = 200
"""How many ids of what stands in the context are named."""
LONGEST_PURPOSE = 200

_INVISIBLE = frozenset(map(chr, (*range(0x202A, 0x202F), *range(0x2066, 0x206A), *range(0xE0000, 0xE0080))))
"""Marks that turn the direction of text or hide it."""


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """What a server asks for, and in which form it is spoken to."""

    form: Form = "request"
    user_message: bool = True
    assistant_response: bool = False
    history: bool = False
    purpose: str = ""

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """What a user would have to grant for all of it."""
        asked: dict[Scope, bool] = {
            "message": self.user_message,
            "history": self.user_message and self.history,
            "assistant": self.assistant_response,
        }
        return tuple(scope for scope, wanted in asked.items() if wanted)

    def to_wire(self) -> Payload:
        """The settings of the extension."""
        told: Payload = {
            "onUserMessage": self.user_message,
            "onAssistantResponse": self.assistant_response,
            "history": self.history,
        }
        return {**told, "purpose": self.purpose} if self.purpose else told


class Turn(msgspec.Struct, frozen=True):
    """One message of the recent history."""

    role: str
    content: str


class Room(msgspec.Struct, frozen=True, kw_only=True):
    """How much context one message may bring in: bytes of all servers, items of each."""

    bytes: int = 6 * 1024
    items: int = 5


class Item(msgspec.Struct, frozen=True):
    """One piece of context that a server gave; `id` is its own name for it."""

    text: str
    relevance: float | None = None
    source: str = ""
    date: str = ""
    id: str = ""


class Found(msgspec.Struct, frozen=True):
    """What an answer holds; `junk` counts what could not be read."""

    items: tuple[Item, ...] = ()
    junk: int = 0


def read_offer(capabilities: object) -> Offer | None:
    """What a server asks for; the extension counts before the seed's key. None: nothing."""
    extension = _object(_object(capabilities, "extensions"), EXTENSION)
    if extension is not None:
        return Offer(
            user_message=extension.get("onUserMessage", True) is True,
            assistant_response=extension.get("onAssistantResponse") is True,
            history=extension.get("history") is True,
            purpose=_line(extension.get("purpose"), LONGEST_PURPOSE),
        )
    told = _object(capabilities, CAPABILITY)
    if told is None:
        return None
    return Offer(
        form="notification",
        user_message=told.get("onUserMessage") is True,
        assistant_response=told.get("onAssistantResponse") is True,
        history=True,
    )


def with_offer(capabilities: Mapping[str, object], offer: Offer) -> Payload:
    """A legacy server's `capabilities` with the offer, in both places."""
    extensions = {**(_object(capabilities, "extensions") or {}), EXTENSION: offer.to_wire()}
    told = {"onUserMessage": offer.user_message, "onAssistantResponse": offer.assistant_response}
    return {**capabilities, "extensions": extensions, CAPABILITY: told}


def message_params(message_id: str, content: str, history: Sequence[Turn]) -> Payload:
    """The params of `conversation/userMessage`, as the seed has them."""
    params: Payload = {"messageId": message_id, "content": content}
    if history:
        params["recentHistory"] = [{"role": turn.role, "content": turn.content} for turn in history]
    return params


def asked_params(
    params: Payload,
    conversation_id: str,
    room: Room,
    deadline: float,
    *,
    project: str = "",
    already: Sequence[str] = (),
) -> Payload:
    """The same for the request form: which conversation, where, what it gave before, how much by when."""
    budget = {"maxItems": room.items, "maxBytes": room.bytes, "deadlineMs": int(deadline * 1000)}
    asked: Payload = {**params, "conversationId": conversation_id, "budget": budget}
    if project:
        asked["scope"] = {"project": project}
    if already:
        asked["alreadyInContext"] = list(already[-MOST_ALREADY:])
    return asked


def response_params(message_id: str, conversation_id: str, content: str) -> Payload:
    """The params of `conversation/assistantResponse`; the message is the one that was answered."""
    return {"messageId": message_id, "conversationId": conversation_id, "content": content}


def recent(messages: Sequence[Turn], most: int, limit: int) -> tuple[Turn, ...]:
    """The last `most` messages, and of those as many as `limit` bytes hold; the newest come first in."""
    kept: list[Turn] = []
    for turn in reversed(messages[-most:] if most else ()):
        limit -= len(turn.content.encode(errors="replace"))
        if limit < 0:
            break
        kept.append(turn)
    return tuple(reversed(kept))


def read_context(result: object) -> Found:
    """The items of an answer, in its order."""
    if not isinstance(result, Mapping):
        return Found(junk=1)
    texts = [] if result.get("context") is None else [result["context"]]
    structured = result.get("structuredContext")
    memories, bad = _listed(structured, "memories") if structured is not None else ([], 0)
    items, worse = _listed(result, "items")
    given = [*texts, *memories, *items]
    read = [_item(one) for one in given[:MOST_ITEMS]]
    kept = tuple(item for item in read if item is not None and item.text)
    wrong = sum(item is None for item in read)
    return Found(kept, bad + worse + wrong + max(len(given) - MOST_ITEMS, 0))


def _listed(holder: object, name: str) -> tuple[list[object], int]:
    """The list of that name, and whether something else stands there."""
    if not isinstance(holder, Mapping):
        return [], 1
    found = holder.get(name)
    return (list(found), 0) if isinstance(found, (list, tuple)) else ([], int(found is not None))


def _item(given: object) -> Item | None:
    if isinstance(given, str):
        return Item(clean(given, LONGEST_ITEM))
    if not isinstance(given, Mapping):
        return None
    content = given.get("content")
    text = content.get("text") if isinstance(content, Mapping) else content
    if not isinstance(text, str):
        return None
    return Item(
        clean(text, LONGEST_ITEM),
        _relevance(given.get("relevance")),
        _source(given.get("source")),
        _date(given),
        _line(given.get("id"), LONGEST_ID),
    )


def _relevance(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        return None
    return float(value)


def _source(value: object) -> str:
    if isinstance(value, Mapping):
        value = next((value[key] for key in ("title", "uri") if isinstance(value.get(key), str)), "")
    return _line(value, LONGEST_SOURCE)


def _date(given: Mapping[str, object]) -> str:
    """The day on which it was said, in whichever of the places a server may put it."""
    places = (("source", "createdAt"), ("annotations", "lastModified"))
    nested = (_object(given, holder) or {} for holder, _ in places)
    found = [given.get("date"), *(each.get(name) for each, (_, name) in zip(nested, places, strict=True))]
    return next((read for value in found if (read := _line(value, LONGEST_DATE))), "")


def clean(text: str, longest: int) -> str:
    """`text` that can be written and shown: cut, without control characters and invisible marks."""
    cut = text[:longest].encode(errors="replace").decode()
    if cut.isascii() and cut.isprintable():
        return cut.strip()
    return "".join(filter(_is_shown, cut)).strip()


def _is_shown(character: str) -> bool:
    if character in "\n\t":
        return True
    return unicodedata.category(character) not in ("Cc", "Cn") and character not in _INVISIBLE


def _line(value: object, longest: int) -> str:
    return " ".join(clean(value, longest).split()) if isinstance(value, str) else ""


def _object(holder: object, name: str) -> Mapping[str, object] | None:
    found = holder.get(name) if isinstance(holder, Mapping) else None
    return found if isinstance(found, Mapping) else None
