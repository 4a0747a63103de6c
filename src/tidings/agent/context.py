"""What a hook or provider is handed: a read-only mapping whose keys are attributes too.

`ctx["result"]["truncated"]` and `ctx.result.truncated` are the same (seed 001 writes the latter).
Nested mappings are wrapped as they are read; the payload itself is never copied or changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

_DEEPEST = 64
"""How far `plain` looks; deeper values stay as they are."""


class Context(Mapping[str, object]):
    """A mapping with attribute access; `ctx.get(key)` for what may be missing."""

    __slots__ = ("_data",)

    def __init__(self, data: Mapping[str, object]) -> None:
        self._data = data

    def __getitem__(self, key: str) -> object:
        return seen(self._data[key])

    def __getattr__(self, key: str) -> object:
        if key.startswith("__"):
            raise AttributeError(key)
        try:
            return self[key]
        except KeyError:
            known = ", ".join(sorted(map(str, self._data))) or "none"
            raise AttributeError(f"no {key!r} in this context; its keys are {known}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)

    def __repr__(self) -> str:
        return f"Context({dict(self._data)!r})"


def seen(value: object) -> object:
    """`value` as a hook sees it: structs and mappings become contexts, also inside lists."""
    if isinstance(value, Context):
        return value
    if isinstance(value, msgspec.Struct):
        return Context(msgspec.structs.asdict(value))
    if isinstance(value, Mapping):
        return Context(value)
    if isinstance(value, (list, tuple)):
        return tuple(seen(item) for item in value)
    return value


def plain(value: object, depth: int = 0) -> object:
    """`value` with its contexts as plain dicts, so that a hook may return what it was given."""
    if depth > _DEEPEST:
        return value
    if isinstance(value, (Context, dict)):
        return {key: plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item, depth + 1) for item in value]
    return value
