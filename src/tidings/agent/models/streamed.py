"""What the vendors' adapters share: request in, events gathered into an answer, client kept.

An adapter says how its request looks, how its SDK streams events, how they are gathered and what
its SDK raises. Nothing of an attempt that failed is kept. Not for the scripted model.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import warnings
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from types import ModuleType
from typing import Any, Protocol

from tidings.agent.conversation import to_wire
from tidings.agent.models.failure import ProviderFailure, clean, network_errors, unreachable, unreadable
from tidings.agent.models.patience import Ear, Patience, patiently
from tidings.agent.port import Answer, ModelError, ToolSpec
from tidings.core.messages import Message
from tidings.core.reminder import Payload
from tidings.errors import CallerError, RouteError
from tidings.rendering import route as routes
from tidings.rendering.route import Route, Wire

_CONNECT = 15.0


class Gathering(Protocol):
    """Collects the events of one stream."""

    def add(self, event: Payload) -> str:
        """Take one event; gives the text that it streams, often none."""
        ...

    def answer(self) -> Answer:
        """What all events together said.

        Raises:
            ModelError: they are not a complete answer.
        """
        ...


class StreamedModel(ABC):
    """A model behind a vendor's async SDK client."""

    vendor: str
    wire: Wire
    module: str
    extra: str

    def __init__(
        self,
        name: str,
        *,
        route: Route | str,
        client: object | None,
        connection: Mapping[str, object],
        patience: Patience,
        options: Mapping[str, object],
    ) -> None:
        self._route = routes.route(route) if isinstance(route, str) else route
        if self._route.wire != self.wire:
            raise RouteError(
                f"{type(self).__name__} speaks {self.wire}; "
                f"route {self._route.name!r} is for {self._route.wire}"
            )
        self.name = name
        self.patience = patience
        self.options = {key: value for key, value in options.items() if value is not None}
        self._given = client
        self._connection = {key: value for key, value in connection.items() if value is not None}
        self._made: tuple[asyncio.AbstractEventLoop, Any] | None = None

    @property
    def route(self) -> Route:
        """What it can take."""
        return self._route

    def wire_messages(self, messages: Sequence[Message]) -> list[Payload]:
        """The loop's neutral messages in the wire's own form."""
        return to_wire(self.wire, messages)

    async def answer(
        self,
        body: Payload,
        tools: Sequence[ToolSpec] = (),
        on_text: Callable[[str], None] | None = None,
    ) -> Answer:
        """Send a rendered request; `on_text` hears text as it streams.

        Raises:
            ModelError: no usable answer.
            CallerError: an option that the SDK does not know.
        """
        client = self.client()
        request = self.request(client, body, tools)

        async def attempt(ear: Ear) -> Answer:
            return await self._attempt(client, request, ear)

        return await patiently(self.vendor, self.patience, attempt, Ear(on_text))

    async def close(self) -> None:
        """Close the client, unless it was given."""
        if self._made is not None:
            _, client = self._made
            self._made = None
            await self.close_client(client)

    def client(self) -> Any:
        """The given client, or our own: one per event loop, since connections belong to one."""
        if self._given is not None:
            return self._given
        loop = asyncio.get_running_loop()
        if self._made is None or self._made[0] is not loop:
            self._made = (loop, self._new_client())
        return self._made[1]

    def _new_client(self) -> Any:
        sdk = self.sdk()
        try:
            return self.make_client(sdk)
        except ValueError as error:
            raise ModelError(f"{self.vendor}: no client can be made ({clean(str(error))})") from None
        except self.sdk_errors() as error:
            raise ModelError(f"{self.vendor}: no client can be made ({clean(str(error))})") from None

    def sdk(self) -> ModuleType:
        """The vendor's SDK, loaded when it is first needed.

        Raises:
            ModelError: it is not installed.
        """
        try:
            with warnings.catch_warnings():  # SDKs deprecate their own names while loading
                warnings.simplefilter("ignore", DeprecationWarning)
                return importlib.import_module(self.module)
        except ModuleNotFoundError as error:
            raise ModelError(
                f"{self.vendor} needs the package {self.module} ({error}); "
                f"pip install 'tidings[{self.extra}]'"
            ) from error

    async def _attempt(self, client: Any, request: dict[str, Any], ear: Ear) -> Answer:
        gathering = self.gathering()
        async with aclosing(self._read(client, request)) as events:
            async for event in events:
                text = self._taken(gathering, event)
                if text:
                    ear(text)
        return gathering.answer()

    async def _read(self, client: Any, request: dict[str, Any]) -> AsyncGenerator[Payload, None]:
        """The events; everything that SDK and network raise becomes a `ProviderFailure`."""
        try:
            async with aclosing(self.events(client, request)) as events:
                async for event in events:
                    yield event
        except self.sdk_errors() as error:
            raise self.failure(client, error) from None
        except network_errors() as error:
            raise unreachable(self.vendor, error, self.secrets(client)) from None
        except ValueError as error:
            raise unreadable(self.vendor, error, self.secrets(client)) from None

    def _taken(self, gathering: Gathering, event: Payload) -> str:
        try:
            return gathering.add(event)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise unreadable(self.vendor, error) from None

    def check_options(self, function: Callable[..., object]) -> None:
        """Refuse options that `function` of the SDK does not know.

        Raises:
            CallerError: naming them.
        """
        known = inspect.signature(function).parameters
        unknown = sorted(self.options.keys() - known.keys())
        if unknown:
            raise CallerError(
                f"{self.vendor} knows no option {', '.join(unknown)}; "
                "fields that the SDK does not know yet go into extra_body={…}"
            )

    def with_tools(self, request: dict[str, Any], tools: list[Payload]) -> dict[str, Any]:
        """`request` with `tools` behind those of the options, which the vendor runs itself."""
        every = [*request.get("tools", ()), *tools]
        return {**request, "tools": every} if every else request

    def timeout(self) -> object:
        """The deadline for SDKs that would stop earlier by themselves; connecting is quick or fails."""
        return self.sdk().Timeout(self.patience.deadline, connect=min(_CONNECT, self.patience.deadline))

    def secrets(self, client: Any) -> tuple[str | None, ...]:
        """What must never be shown: the client's key."""
        key = getattr(client, "api_key", None)
        return (key if isinstance(key, str) else None,)

    @abstractmethod
    def make_client(self, sdk: ModuleType) -> Any:
        """A client of our own, without retries of its own."""

    @abstractmethod
    async def close_client(self, client: Any) -> None:
        """Close a client that `make_client` made."""

    @abstractmethod
    def request(self, client: Any, body: Payload, tools: Sequence[ToolSpec]) -> dict[str, Any]:
        """The arguments for the SDK: body, tools and options.

        Raises:
            CallerError: an option that the SDK does not know.
        """

    @abstractmethod
    def events(self, client: Any, request: dict[str, Any]) -> AsyncGenerator[Payload, None]:
        """Send the request and give the stream's events as JSON objects."""

    @abstractmethod
    def gathering(self) -> Gathering:
        """An empty gathering for one attempt."""

    @abstractmethod
    def sdk_errors(self) -> tuple[type[Exception], ...]:
        """What the SDK raises."""

    @abstractmethod
    def failure(self, client: Any, error: Exception) -> ProviderFailure:
        """An SDK error in our words."""
