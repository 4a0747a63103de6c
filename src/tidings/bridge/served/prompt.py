"""What a user sends becomes a neutral message of the loop. Pure.

Text, links and attached text become one text; with an image the message is a list of blocks. What the loop
cannot take is refused by its place, before anything of it is kept. Called for prompts and injected words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tidings.agent.conversation import user
from tidings.agent.models.forms import Block
from tidings.bridge.rpc import INVALID_PARAMS, RpcError
from tidings.core.producers import shown
from tidings.core.reminder import Payload
from tidings.errors import CallerError

LONGEST_HEADLINE = 80


def neutral(content: object, field: str = "prompt") -> str | list[Block]:
    """The content of a user message.

    Raises:
        RpcError: nothing in it, or a block that cannot be used.
    """
    blocks: list[Block] = []
    glue = False
    for at, block in enumerate(_listed(content, field)):
        made, inline = _block(block, f"{field}[{at}]")
        if blocks and made["type"] == blocks[-1]["type"] == "text":
            between = "" if inline or glue else "\n\n"
            blocks[-1] = {"type": "text", "text": f"{blocks[-1]['text']}{between}{made['text']}"}
        else:
            blocks.append(made)
        glue = inline
    told = [block for block in blocks if block["type"] != "text" or str(block["text"]).strip()]
    only_text = len(told) == 1 and told[0]["type"] == "text"
    result = str(told[0]["text"]) if only_text else told
    try:
        user(result)
    except CallerError as error:
        raise _bad(field, str(error)) from error
    return result


def headline(content: str | list[Block]) -> str:
    """One short line for a list of sessions."""
    texts = (
        [content] if isinstance(content, str) else [str(b["text"]) for b in content if b["type"] == "text"]
    )
    line = " ".join(" ".join(texts).split())
    return line if len(line) <= LONGEST_HEADLINE else f"{line[: LONGEST_HEADLINE - 1]}…"


def _listed(content: object, field: str) -> Sequence[object]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if isinstance(content, (list, tuple)) and content:
        return content
    raise _bad(field, f"`{field}` must be text or a list of content blocks; got {shown(content)}")


def _block(block: object, where: str) -> tuple[Block, bool]:
    """The neutral block, and whether it stands inside a line of text."""
    if not isinstance(block, Mapping):
        raise _bad(where, f"`{where}` must be an object; got {shown(block)}")
    match block.get("type"):
        case "text":
            return {"type": "text", "text": _text(block, "text", where, blank=True)}, False
        case "image":
            media = "media_type" if "media_type" in block else "mimeType"
            data = _text(block, "data", where)
            return {"type": "image", "media_type": _text(block, media, where), "data": data}, False
        case "resource_link":
            return {"type": "text", "text": _link(block, where)}, True
        case "resource":
            return {"type": "text", "text": _attached(block.get("resource"), where)}, False
        case kind:
            fix = "use text, image, resource_link or resource"
            raise _bad(where, f"`{where}.type` is {shown(kind)}; {fix}")


def _link(block: Mapping[str, object], where: str) -> str:
    uri = _text(block, "uri", where)
    name = block.get("name")
    return f"[{name}]({uri})" if isinstance(name, str) and name.strip() else uri


def _attached(resource: object, where: str) -> str:
    if not isinstance(resource, Mapping):
        raise _bad(where, f"`{where}.resource` must be an object; got {shown(resource)}")
    uri = _text(resource, "uri", f"{where}.resource")
    text = resource.get("text")
    if isinstance(text, str):
        return f"Attached {uri}:\n\n{text}"
    return f"Attached {uri}: a binary file that is not shown here."


def _text(block: Mapping[str, object], key: str, where: str, *, blank: bool = False) -> str:
    value = block.get(key)
    if isinstance(value, str) and (blank or value.strip()):
        return value
    raise _bad(where, f"`{where}.{key}` must be a text; got {shown(value)}")


def _bad(field: str, message: str) -> RpcError:
    data: Payload = {"field": field}
    return RpcError(INVALID_PARAMS, message, data)
