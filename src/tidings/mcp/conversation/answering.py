"""The server's side: a function that answers user messages, on any server of the official SDK.

    conversation = ConversationServer(server, purpose="recalls what you told it")

    @conversation.on_user_message
    async def recall(message: UserMessage) -> list[Memory]: ...

It serves both wire forms in both eras. A handler that is late, fails or is called too often at once costs
its own answer and nothing else. Handlers that are no coroutines run in threads.
"""

from __future__ import annotations

import inspect
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias, TypeVar, cast

import anyio
import anyio.to_thread
import msgspec
from mcp.server.context import CallNext, HandlerResult
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, NotificationParams, RequestParams

from tidings.core.producers import shown
from tidings.core.reminder import Payload
from tidings.errors import CallerError
from tidings.mcp.conversation.names import (
    ASSISTANT_RESPONSE,
    CONTEXT,
    EXTENSION,
    USER_MESSAGE,
)
from tidings.mcp.conversation.wire import LONGEST_ITEM, MOST_ALREADY, MOST_ITEMS, Offer, Turn, with_offer
from tidings.mcp.emit.sdk import AnyServer, Context, channel_of, lowlevel

DEADLINE = 0.45
"""Seconds that a handler has: a client waits for 500 milliseconds."""

MOST_AT_ONCE = 16
"""How many messages are handled at a time; one more is answered with nothing."""

_logger = logging.getLogger("tidings.mcp")


class UserMessage(msgspec.Struct, frozen=True, kw_only=True):
    """What a client asks about. `history` is there if the user granted it; ids mean nothing elsewhere.

    `already` holds the ids of the memories that you gave before and that the model still has before it;
    `project` is the name of the folder that the user works in.
    """

    id: str
    content: str
    history: tuple[Turn, ...] = ()
    conversation: str | None = None
    project: str | None = None
    already: tuple[str, ...] = ()
    most_items: int | None = None
    most_bytes: int | None = None


class AssistantResponse(msgspec.Struct, frozen=True, kw_only=True):
    """What the assistant answered to the message `id`."""

    id: str
    content: str
    conversation: str | None = None


class Memory(msgspec.Struct, frozen=True):
    """One piece of context, as the seed has it; `relevance` is between 0 and 1.

    `date` says from when it is, `id` is your own name for it: the client names what it still has by that.
    """

    content: str
    relevance: float = 1.0
    source: str = ""
    date: str = ""
    id: str = ""


Given: TypeAlias = str | Sequence[Memory | str] | None
"""What a handler returns: a text, pieces of context, or nothing."""

Answer: TypeAlias = Callable[[UserMessage], Given | Awaitable[Given]]
Hear: TypeAlias = Callable[[AssistantResponse], Awaitable[None] | None]
A = TypeVar("A", bound=Answer)
H = TypeVar("H", bound=Hear)


class ConversationServer:
    """Conversation events for one server, before it runs.

    Args:
        server: An `MCPServer` or a low-level `Server`.
        history: Ask for the recent history too; the user decides.
        purpose: What the words are used for, in a sentence that users read before they consent.
        deadline: Seconds that a handler has.

    Raises:
        CallerError: no server of the SDK.
    """

    def __init__(
        self, server: AnyServer, *, history: bool = False, purpose: str = "", deadline: float = DEADLINE
    ) -> None:
        self._low = lowlevel(server)
        self._offer = Offer(user_message=False, history=history, purpose=purpose)
        self._deadline = deadline
        self._answer: Answer | None = None
        self._hear: Hear | None = None
        self._running = 0
        self._threads = anyio.CapacityLimiter(MOST_AT_ONCE)
        self.counts: Counter[str] = Counter()
        self._low.middleware.insert(0, cast("Any", self._advertised))

    def on_user_message(self, handler: A) -> A:
        """Let `handler` answer user messages: with a text, a list of memories, or None."""
        self._answer = handler
        self._low.add_request_handler(USER_MESSAGE, RequestParams, self._asked)
        self._low.add_notification_handler(USER_MESSAGE, NotificationParams, self._told)
        self._offered(user_message=True)
        return handler

    def on_assistant_response(self, handler: H) -> H:
        """Let `handler` hear what the assistant answered, where the user granted that."""
        self._hear = handler
        self._low.add_notification_handler(ASSISTANT_RESPONSE, NotificationParams, self._heard)
        self._offered(assistant_response=True)
        return handler

    def _offered(self, **more: bool) -> None:
        self._offer = msgspec.structs.replace(self._offer, **more)
        self._low.extensions[EXTENSION] = self._offer.to_wire()

    async def _advertised(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """The SDK strips extensions from the legacy handshake: put ours back, and the seed's key."""
        result = await call_next(ctx)
        if ctx.method != "initialize" or not isinstance(result, dict):
            return result
        capabilities = result.get("capabilities")
        known = cast("Payload", capabilities) if isinstance(capabilities, dict) else {}
        return {**result, "capabilities": with_offer(known, self._offer)}

    async def _asked(self, ctx: Context, _params: RequestParams) -> Payload:
        message = read_message(ctx.params)
        try:
            return to_result(await self._bounded(self._answer, message, _wait(ctx.params)))
        except CallerError as error:
            self.counts["failed"] += 1
            raise MCPError(INTERNAL_ERROR, str(error)) from error

    async def _told(self, ctx: Context, _params: NotificationParams) -> None:
        """The literal form: the answer is a notification of its own."""
        message = read_message(ctx.params)
        try:
            result = to_result(await self._bounded(self._answer, message, _wait(ctx.params)))
        except CallerError:
            self.counts["failed"] += 1
            _logger.exception("nothing is answered to the message %s", message.id)
            return
        await channel_of(ctx).send(CONTEXT, {"messageId": message.id, **result})

    async def _heard(self, ctx: Context, _params: NotificationParams) -> None:
        params = ctx.params or {}
        response = AssistantResponse(
            id=_text(params, "messageId"),
            content=_text(params, "content"),
            conversation=_maybe(params, "conversationId"),
        )
        try:
            await self._bounded(self._hear, response, self._deadline)
        except CallerError:
            self.counts["failed"] += 1
            _logger.exception("the answer to %s was not taken in", response.id)

    async def _bounded(self, handler: Callable[[Any], Any] | None, given: object, wait: float) -> object:
        """What the handler gives in time; nothing when it is late or too many run."""
        assert handler is not None
        if self._running >= MOST_AT_ONCE:
            self.counts["busy"] += 1
            return None
        self._running += 1
        try:
            with anyio.move_on_after(min(wait, self._deadline)) as limit:
                returned = await self._called(handler, given)
            if limit.cancelled_caught:
                self.counts["late"] += 1
                _logger.warning("a conversation handler was not done in %.3g s", min(wait, self._deadline))
                return None
        finally:
            self._running -= 1
        self.counts["handled"] += 1
        return returned

    async def _called(self, handler: Callable[[Any], Any], given: object) -> object:
        try:
            if inspect.iscoroutinefunction(handler):
                return cast("object", await handler(given))
            call = partial(handler, given)
            returned = await anyio.to_thread.run_sync(call, abandon_on_cancel=True, limiter=self._threads)
            return cast("object", await returned if inspect.isawaitable(returned) else returned)
        except Exception as error:
            _logger.exception("a conversation handler raised")
            raise CallerError("the handler of this server failed; its log says why") from error


def read_message(params: Mapping[str, Any] | None) -> UserMessage:
    """The message that params describe.

    Raises:
        MCPError: -32602, with the field that is wrong.
    """
    given = params or {}
    budget = given.get("budget")
    limits: Mapping[str, object] = budget if isinstance(budget, Mapping) else {}
    history = given.get("recentHistory")
    if history is not None and not isinstance(history, (list, tuple)):
        raise MCPError(INVALID_PARAMS, f"`recentHistory` must be a list; got {shown(history)}")
    scope = given.get("scope")
    return UserMessage(
        id=_text(given, "messageId"),
        content=_text(given, "content"),
        history=tuple(_turn(one) for one in history or ()),
        conversation=_maybe(given, "conversationId"),
        project=_maybe(scope, "project") if isinstance(scope, Mapping) else None,
        already=_names(given, "alreadyInContext"),
        most_items=_number(limits.get("maxItems")),
        most_bytes=_number(limits.get("maxBytes")),
    )


def to_result(given: object) -> Payload:
    """What a handler returned, as the seed's `ConversationContextResult`; cut where no client would look.

    Raises:
        CallerError: it is nothing of that kind.
    """
    if given is None:
        return {}
    if isinstance(given, str):
        return {"context": given[:LONGEST_ITEM]} if given.strip() else {}
    if isinstance(given, (list, tuple)) and all(isinstance(one, (Memory, str)) for one in given):
        memories = [one if isinstance(one, Memory) else Memory(one) for one in given[:MOST_ITEMS]]
        return {"structuredContext": {"memories": [_memory(one) for one in memories]}} if memories else {}
    raise CallerError(f"a handler gives a text, a list of Memory or text, or None; got {shown(given)}")


def _memory(memory: Memory) -> Payload:
    told: Payload = {"content": memory.content[:LONGEST_ITEM], "relevance": memory.relevance}
    more = {"source": memory.source, "date": memory.date, "id": memory.id}
    return {**told, **{name: value for name, value in more.items() if value}}


def _wait(params: Mapping[str, Any] | None) -> float:
    """The seconds that the client waits, if it says so."""
    budget = (params or {}).get("budget")
    milliseconds = budget.get("deadlineMs") if isinstance(budget, Mapping) else None
    return milliseconds / 1000 if isinstance(milliseconds, (int, float)) and milliseconds > 0 else DEADLINE


def _turn(given: object) -> Turn:
    if not isinstance(given, Mapping):
        raise MCPError(INVALID_PARAMS, f"`recentHistory` must hold objects; got {shown(given)}")
    return Turn(_text(given, "role"), _text(given, "content"))


def _text(holder: Mapping[str, Any], name: str) -> str:
    value = holder.get(name)
    if isinstance(value, str):
        return value
    raise MCPError(INVALID_PARAMS, f"`{name}` must be a string; got {shown(value)}")


def _names(holder: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = holder.get(name)
    if value is None:
        return ()
    if isinstance(value, (list, tuple)) and all(isinstance(one, str) for one in value[:MOST_ALREADY]):
        return tuple(value[:MOST_ALREADY])
    raise MCPError(INVALID_PARAMS, f"`{name}` must be a list of strings; got {shown(value)}")


def _maybe(holder: Mapping[str, Any], name: str) -> str | None:
    value = holder.get(name)
    return value if isinstance(value, str) else None


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
