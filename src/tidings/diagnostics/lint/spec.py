"""Reminder options somewhere in a file, and who will read them. A value; `sites.py` finds them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Literal, TypeAlias

import msgspec

from tidings.core.producers import ProducerName
from tidings.diagnostics.lint.literal import Options, options_of, value_of
from tidings.diagnostics.lint.names import Names

Reader: TypeAlias = Literal["pipeline", "hook", "provider", "bridge", "lenient", "worker"]
"""Who will read a spec: a producer, the lenient builder, or a hook that takes no reminders."""

_PRODUCERS: dict[Reader, ProducerName] = {
    "pipeline": "pipeline",
    "hook": "hook",
    "provider": "provider",
    "bridge": "bridge",
    "lenient": "pipeline",
    "worker": "hook",
}


class Spec(msgspec.Struct, frozen=True):
    """Reminder options at a node. `options` is None for a literal that is no mapping."""

    reader: Reader
    node: ast.expr
    options: Options | None

    @property
    def producer(self) -> ProducerName:
        """The producer whose rules apply."""
        return _PRODUCERS[self.reader]


def spec_at(node: ast.expr, reader: Reader, names: Names) -> Iterator[Spec]:
    """The spec that stands at `node`, if it is a mapping or a plain literal."""
    options = options_of(node, names)
    if options is not None:
        yield Spec(reader, node, options)
    elif isinstance(value_of(node, names), (str, int, float)):
        yield Spec(reader, node, None)
