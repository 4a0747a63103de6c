"""What each server is to be sent, or why it is sent nothing: consents and offers in, errands out. Pure.

The only place that puts a user's words together with a server. A server without a grant gets no errand; the
history goes only to those that were granted it and ask for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

import msgspec

from tidings.core.reminder import Payload
from tidings.core.text import truncate
from tidings.mcp.conversation.breaker import Patience
from tidings.mcp.conversation.consent import Consents, Grant, pairwise
from tidings.mcp.conversation.ledger import Sent, measure
from tidings.mcp.conversation.names import ASSISTANT_RESPONSE, USER_MESSAGE
from tidings.mcp.conversation.peer import Peer
from tidings.mcp.conversation.wire import (
    Item,
    Offer,
    Room,
    Turn,
    asked_params,
    message_params,
    read_offer,
    recent,
    response_params,
)

Kind: TypeAlias = Literal[
    "answered", "sent", "late", "failed", "revoked", "no_consent", "changed", "no_channel", "disconnected",
    "breaker_open", "busy", "unrecorded",
]  # fmt: skip
"""What became of one server for one message."""

MEANINGS: dict[Kind, str] = {
    "answered": "answered in time",
    "sent": "was told the answer",
    "late": "did not answer in time; what it says later is dropped",
    "failed": "answered with an error, or could not be reached",
    "revoked": "lost its consent while it was asked; its answer is not used",
    "no_consent": "asks to see the conversation and may not: tidings consent grant",
    "changed": "is no longer the program or address that was consented to: tidings consent grant",
    "no_channel": "cannot be told: no notifications pass on this connection",
    "disconnected": "has consent and is not connected",
    "breaker_open": "is left alone for a while, after timeouts in a row",
    "busy": "still holds up the last message",
    "unrecorded": "was not asked, because the ledger could not be written",
}


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """How messages are sent: one deadline in seconds for all servers, how much goes out and comes in."""

    deadline: float = 0.5
    room: Room = Room()
    message_bytes: int = 16 * 1024
    history_messages: int = 6
    history_bytes: int = 4 * 1024
    patience: Patience = Patience()


class Words(msgspec.Struct, frozen=True, kw_only=True):
    """What the user said (or the assistant answered): in which conversation, as which message.

    `project` is the folder that consents are for and stays here; `scope` is the name of it that servers
    are told. `already`: the ids of what each server gave before and what still stands in the context.
    """

    conversation: str
    message: str
    content: str
    project: str
    scope: str = ""
    history: tuple[Turn, ...] = ()
    already: Mapping[str, tuple[str, ...]] = {}


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one server. `junk` counts the parts of its answer that could not be read."""

    server: str
    kind: Kind
    items: tuple[Item, ...] = ()
    junk: int = 0
    reason: str = ""
    priority: int = 0


class Errand(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to send to one server, with its entry for the ledger."""

    peer: Peer
    offer: Offer
    grant: Grant
    method: str
    params: Payload
    sent: Sent


def plan(
    peer: Peer, consents: Consents, words: Words, settings: Settings, method: str
) -> Errand | Kind | None:
    """The errand, or why there is none; None when the server does not care."""
    capabilities = peer.capabilities()
    offer = read_offer(capabilities)
    wanted = offer is not None and (
        offer.user_message if method == USER_MESSAGE else offer.assistant_response
    )
    if capabilities is not None and not wanted:
        return None
    scope = "message" if method == USER_MESSAGE else "assistant"
    grant = consents.grant_for(peer.name, peer.target, words.project)
    if grant is None or scope not in grant.scopes:
        return _refusal(peer, consents, words, connected=capabilities is not None)
    if offer is None:
        return "disconnected"
    if not peer.notifies and (offer.form == "notification" or method == ASSISTANT_RESPONSE):
        return "no_channel"
    return _errand(peer, offer, grant, consents, words, settings, method)


def _refusal(peer: Peer, consents: Consents, words: Words, *, connected: bool) -> Kind | None:
    if not connected:
        return None
    return "changed" if consents.changed_target(peer.name, peer.target, words.project) else "no_consent"


def stated_purpose(peer: Peer) -> str:
    """Why a server asks to see messages, in its own words."""
    offer = read_offer(peer.capabilities())
    return f"it says why: {offer.purpose!r}" if offer is not None and offer.purpose else ""


def _errand(
    peer: Peer,
    offer: Offer,
    grant: Grant,
    consents: Consents,
    words: Words,
    settings: Settings,
    method: str,
) -> Errand:
    conversation = pairwise(consents.key, peer.target, f"conversation {words.conversation}")
    message = pairwise(consents.key, peer.target, f"message {words.message}")
    content = truncate(words.content, settings.message_bytes)
    history = _history(offer, grant, words, settings) if method == USER_MESSAGE else ()
    if method == ASSISTANT_RESPONSE:
        params = response_params(message, conversation, content)
    elif offer.form == "notification":
        params = message_params(message, content, history)
    else:
        params = message_params(message, content, history)
        params = asked_params(
            params,
            conversation,
            settings.room,
            settings.deadline,
            project=words.scope,
            already=words.already.get(peer.name, ()),
        )
    size, digest = measure(params)
    sent = Sent(
        server=peer.name,
        target=peer.target,
        event=method,
        form=offer.form if method == USER_MESSAGE else "notification",
        scopes=_used(method, history),
        project=words.project,
        session_id=words.conversation,
        conversation_id=conversation,
        message_id=message,
        history=len(history),
        bytes=size,
        sha256=digest,
    )
    return Errand(peer=peer, offer=offer, grant=grant, method=method, params=params, sent=sent)


def _history(offer: Offer, grant: Grant, words: Words, settings: Settings) -> tuple[Turn, ...]:
    """What of the history goes along: nothing unless it is granted and asked for."""
    if "history" not in grant.scopes or not offer.history:
        return ()
    return recent(words.history, settings.history_messages, settings.history_bytes)


def _used(method: str, history: tuple[Turn, ...]) -> tuple[str, ...]:
    """The scopes without which this could not be sent."""
    if method == ASSISTANT_RESPONSE:
        return ("assistant",)
    return ("message", "history") if history else ("message",)
