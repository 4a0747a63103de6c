"""One line of JSON-RPC, opened only as far as needed. Pure.

`head_of` reads what routes a message and leaves the rest as raw bytes, so that a line that is edited keeps
every other value as its sender wrote it. What is not a message gives None: it is passed on as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import msgspec
from msgspec import UNSET, Raw, UnsetType

Id: TypeAlias = str | int | float | None
Members: TypeAlias = dict[str, object]
"""The members of a JSON object: raw bytes, or a value of ours."""


class Head(msgspec.Struct, frozen=True):
    """What every message may have. A request has a method and an id, an answer a result or an error."""

    method: str | UnsetType = UNSET
    id: Id | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET

    @property
    def key(self) -> Id:
        """The id; None when there is none."""
        return None if isinstance(self.id, UnsetType) else self.id

    @property
    def has_id(self) -> bool:
        """Whether it is a request, or the answer to one."""
        return self.id is not UNSET


_head = msgspec.json.Decoder(Head).decode
_members = msgspec.json.Decoder(dict[str, Raw]).decode
_list = msgspec.json.Decoder(list[Raw]).decode
_BAD = (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError, RecursionError)


def head_of(line: bytes) -> Head | None:
    """The head of the message on `line`; None when it holds none."""
    try:
        return _head(line)
    except _BAD:
        return None


def members(raw: Raw | UnsetType | bytes | object) -> Members | None:
    """The members of a raw object; None when it is something else."""
    if not isinstance(raw, (Raw, bytes)):
        return None
    try:
        return dict(_members(raw))
    except _BAD:
        return None


def items(raw: object) -> list[object] | None:
    """The items of a raw list; None when it is something else."""
    if not isinstance(raw, Raw):
        return None
    try:
        return list(_list(raw))
    except _BAD:
        return None


def value(raw: object) -> object:
    """What a raw value means, decoded whole; None when it is absent or cannot be read."""
    if not isinstance(raw, Raw):
        return None
    try:
        return msgspec.json.decode(raw)
    except _BAD:
        return None


def text(found: Mapping[str, object] | None, name: str) -> str | None:
    """The string under `name`; None when there is none."""
    inner = None if found is None else value(found.get(name))
    return inner if isinstance(inner, str) else None


def line_of(message: Mapping[str, object]) -> bytes:
    """The line of a message; raw members stay as they were."""
    return msgspec.json.encode(message) + b"\n"


def with_meta(holder: Members, added: Mapping[str, object]) -> Members:
    """`holder` with `added` under `_meta.harn`, beside what stands there."""
    meta = members(holder.get("_meta")) or {}
    harn = members(meta.get("harn")) or {}
    return {**holder, "_meta": {**meta, "harn": {**harn, **added}}}
