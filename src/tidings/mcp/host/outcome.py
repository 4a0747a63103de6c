"""What an MCP tool answered, as the outcome that the loop shows its model. Pure.

Text is taken as it is but for our framing tags, which are made harmless; what a model cannot read here, as
an image, becomes a note. Structured content is shown where there is no text.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tidings.agent.port import Outcome
from tidings.core.reminder import Payload
from tidings.core.text import scrub

LARGEST_TEXT = 1024 * 1024
"""Characters of one answer that are looked at; the dispatcher shows far less."""


def outcome_of(result: Mapping[str, object], server: str, tool: str) -> Outcome:
    """The outcome of a `tools/call` result."""
    blocks = result.get("content")
    parts = [_block(block) for block in blocks] if isinstance(blocks, list) else []
    structured = result.get("structuredContent")
    if structured is not None and not _has_text(blocks):
        parts.append(msgspec.json.encode(structured).decode())
    text = "\n".join(part for part in parts if part)
    data: Payload = {"server": server, "tool": tool}
    if structured is not None:
        data["structured_content"] = structured
    shown = scrub(text[:LARGEST_TEXT])
    return Outcome(
        text=shown or "The tool gave no text.",
        ok=result.get("isError") is not True,
        truncated=len(text) > LARGEST_TEXT,
        original_size=len(text) if len(text) > LARGEST_TEXT else None,
        data=data,
    )


def _has_text(blocks: object) -> bool:
    return isinstance(blocks, list) and any(
        isinstance(block, Mapping) and block.get("type") == "text" for block in blocks
    )


def _block(block: object) -> str:
    if not isinstance(block, Mapping):
        return ""
    match block.get("type"):
        case "text":
            return str(block.get("text", ""))
        case "image" | "audio" as kind:
            return f"[{kind}: {_kind(block)}, {_size(block.get('data'))}; not shown]"
        case "resource_link":
            return f"[resource: {block.get('name', '')} {block.get('uri', '')}]"
        case "resource":
            return _resource(block.get("resource"))
        case other:
            return f"[{other}: not shown]"


def _resource(resource: object) -> str:
    if not isinstance(resource, Mapping):
        return ""
    uri, text = resource.get("uri", ""), resource.get("text")
    if isinstance(text, str):
        return f"[resource: {uri}]\n{text}"
    return f"[resource: {uri} {_kind(resource)}, {_size(resource.get('blob'))}; not shown]"


def _kind(block: Mapping[str, object]) -> str:
    return str(block.get("mimeType", "unknown kind"))


def _size(data: object) -> str:
    """About how many bytes base64 stands for."""
    return f"{len(data) * 3 // 4} bytes" if isinstance(data, str) else "no data"
