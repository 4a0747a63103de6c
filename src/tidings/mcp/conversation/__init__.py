"""Conversation events (seed 003): with the user's consent, servers see a message and add context to it.

What decides is pure (`wire`, `consent`, `breaker`, `sharing`, `errand`, `messages`); `store` and `ledger`
keep files; `asking` asks, `joined` puts it into the loop, `hosted` speaks through our MCP host,
`answering` is the server's side. The names below are loaded when first used, so that importing this
package loads no SDK.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tidings.mcp.conversation.answering import AssistantResponse as AssistantResponse
    from tidings.mcp.conversation.answering import ConversationServer as ConversationServer
    from tidings.mcp.conversation.answering import Memory as Memory
    from tidings.mcp.conversation.answering import UserMessage as UserMessage
    from tidings.mcp.conversation.asking import Asker as Asker
    from tidings.mcp.conversation.breaker import Patience as Patience
    from tidings.mcp.conversation.consent import ConsentError as ConsentError
    from tidings.mcp.conversation.consent import Grant as Grant
    from tidings.mcp.conversation.consent import target_of as target_of
    from tidings.mcp.conversation.errand import Result as Result
    from tidings.mcp.conversation.errand import Settings as Settings
    from tidings.mcp.conversation.errand import Words as Words
    from tidings.mcp.conversation.hosted import peers_of as peers_of
    from tidings.mcp.conversation.joined import Conversations as Conversations
    from tidings.mcp.conversation.ledger import open_ledger as open_ledger
    from tidings.mcp.conversation.peer import LocalPeer as LocalPeer
    from tidings.mcp.conversation.peer import Peer as Peer
    from tidings.mcp.conversation.store import ConsentStore as ConsentStore
    from tidings.mcp.conversation.wire import Item as Item
    from tidings.mcp.conversation.wire import Room as Room

_HOME = {
    "answering": ("AssistantResponse", "ConversationServer", "Memory", "UserMessage"),
    "asking": ("Asker",),
    "breaker": ("Patience",),
    "consent": ("ConsentError", "Grant", "target_of"),
    "errand": ("Result", "Settings", "Words"),
    "hosted": ("peers_of",),
    "joined": ("Conversations",),
    "ledger": ("open_ledger",),
    "peer": ("LocalPeer", "Peer"),
    "store": ("ConsentStore",),
    "wire": ("Item", "Room"),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = [*_MODULE_OF]


def __getattr__(name: str) -> object:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'tidings.mcp.conversation' has no attribute {name!r}")
    try:
        value: object = getattr(import_module(f"tidings.mcp.conversation.{module}"), name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("mcp", "mcp_types", "httpx2"):
            raise
        fix = f"tidings.mcp.conversation.{name} needs the package mcp: pip install 'tidings[mcp]'"
        raise ImportError(fix, name=error.name) from error
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
