"""A `session/prompt` of the editor: what it asks, and the same with our block at its end. Pure."""

from __future__ import annotations

from tidings.acp.proxy.message import Members, items, members, text
from tidings.core.reminder import Payload


def blocks_of(params: Members) -> list[object] | None:
    """The prompt's content blocks; None when it has no list of them."""
    return items(params.get("prompt"))


def is_command(blocks: list[object]) -> bool:
    """Whether the first text starts with a slash: agents read such a prompt as a command."""
    for block in blocks:
        content = members(block)
        if text(content, "type") == "text":
            said = text(content, "text")
            return said is not None and said.lstrip().startswith("/")
    return False


def with_block(params: Members, blocks: list[object], added: Payload) -> Members:
    """The parameters with `added` as the last block."""
    return {**params, "prompt": [*blocks, added]}
