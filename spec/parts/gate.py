"""What a gate takes, learnt by asking it. Requests have no second list of rules that could drift.

A *door* does what a sender asks, or raises. `learnt` tries values on one member: which JSON types go
through, which words, how small a number, how long a text. `required` and `closed_to_others` ask the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from spec.parts.schema import VOCABULARY, Schema, either, named, ref
from tidings.agent.session import Session
from tidings.bridge.handle import Target, answer
from tidings.bridge.rpc import Call, RpcError
from tidings.core.producers import ProducerName, build
from tidings.core.reminder import Payload
from tidings.errors import TidingsError

Door: TypeAlias = Callable[[Mapping[str, object]], object]
Ask: TypeAlias = Callable[[object], bool]

PROBE = "probe"
LONGEST = 1 << 20
"""A text that is taken at this length is taken at any."""


class Willing(Session):
    """A session that takes any blocks and revokes anything: what counts here is how one asks."""

    def inject(self, content: object, *, mode: str | None = None, id: str | None = None) -> str:
        """Blocks are read by who serves a session; here a word stands for them."""
        return super().inject(content if isinstance(content, str) else PROBE, mode=mode, id=id)

    def revoke_reminder(self, reminder_id: str) -> Payload:
        """Answered as if it had waited."""
        return {"status": "revoked", "reminderId": reminder_id}


class OneSession:
    """The only session there is, new for each question, under whatever name it is asked for."""

    def __init__(self) -> None:
        self.session = Willing(PROBE)

    def find(self, _session_id: str, /) -> Target | None:
        """The session."""
        return self.session

    def only(self) -> Target | None:
        """The session."""
        return self.session

    def rejected(self, _session_id: str | None, _method: str, error: RpcError, /) -> None:
        """Only requests are asked, and those raise."""
        raise error


def options_door(producer: ProducerName) -> Door:
    """The gate of a producer in this process."""
    return lambda options: build(producer, options, id=PROBE)


def method_door(method: str) -> Door:
    """The way in of a JSON-RPC method."""
    return lambda params: answer(Call(method, dict(params)), OneSession())


def takes(door: Door, given: Mapping[str, object]) -> bool:
    """Whether the door lets this through."""
    try:
        door(given)
    except TidingsError:
        return False
    return True


def required(door: Door, least: Mapping[str, object]) -> list[str]:
    """The members of `least` that it does not go through without."""
    if not takes(door, least):
        raise AssertionError(f"the gate does not take {least!r}")
    names = list(least)
    return [name for name in names if not takes(door, {k: v for k, v in least.items() if k != name})]


def closed_to_others(door: Door, least: Mapping[str, object]) -> bool:
    """Whether a member that nobody knows is refused."""
    return not takes(door, {**least, f"{PROBE}Unknown": PROBE})


def learnt(door: Door, name: str, least: Mapping[str, object]) -> Schema:
    """The schema of one member; `least` is what goes through without it."""

    def ask(value: object) -> bool:
        return takes(door, {**least, name: value})

    options = [*_options(ask), *([] if (listed := _list(ask)) is None else [listed])]
    options.sort(key=lambda option: option.get("type") == "null")
    if not options:
        raise AssertionError(f"the gate takes no value for {name!r} that we can think of")
    return either(*options)


def _options(ask: Ask) -> list[Schema]:
    found = [learn(ask) for learn in (_text, _number, _flag, _object, _nothing)]
    return [schema for schema in found if schema is not None]


def _text(ask: Ask) -> Schema | None:
    if not ask(PROBE):
        every = dict.fromkeys(word for words in VOCABULARY.values() for word in words)
        taken = [word for word in every if ask(word)]
        return named(taken) if taken else None
    schema: Schema = {"type": "string"} if ask(" ") else ref("NotBlank")
    longest = _longest(ask)
    return schema if longest is None else {**schema, "maxLength": longest}


def _longest(ask: Ask) -> int | None:
    if ask("x" * LONGEST):
        return None
    low, high = len(PROBE), LONGEST
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if ask("x" * middle) else (low, middle)
    return low


def _number(ask: Ask) -> Schema | None:
    taken = [number for number in range(-2, 3) if ask(number)]
    if not taken:
        return None
    schema: Schema = {"type": "number" if ask(0.5) else "integer"}
    return schema if taken[0] == -2 else {**schema, "minimum": taken[0]}


def _flag(ask: Ask) -> Schema | None:
    return {"type": "boolean"} if ask(True) and ask(False) else None


def _list(ask: Ask) -> Schema | None:
    items = _options(lambda item: ask([item]))
    if not items:
        return None
    schema: Schema = {"type": "array", "items": either(*items)}
    return schema if ask([]) else {**schema, "minItems": 1}


def _object(ask: Ask) -> Schema | None:
    return {"type": "object"} if ask({}) else None


def _nothing(ask: Ask) -> Schema | None:
    return {"type": "null"} if ask(None) else None
