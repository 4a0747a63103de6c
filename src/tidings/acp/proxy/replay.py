"""History that an agent sends back to the editor, cleaned of what we added. Pure.

When a session is loaded, agents replay the prompts: some without our block, some as a chunk of its own,
some inside the user's text. A chunk that was ours alone is dropped, otherwise our part is cut out.
Titles that an agent made of a prompt are cleaned the same way. Everything else is left alone: a tool
result that quotes our words is the agent's to show.
"""

from __future__ import annotations

from tidings.acp.proxy.block import without_ours
from tidings.acp.proxy.message import Members, items, members, text

USER_CHUNKS = frozenset(("user_message_chunk", "user_message"))


def cleaned_update(update: Members) -> Members | None:
    """A `session/update` without our words; None when nothing is left, itself when there were none."""
    kind = text(update, "sessionUpdate")
    if kind in USER_CHUNKS:
        return _cleaned_chunk(update)
    if kind == "session_info_update":
        return _cleaned_title(update)
    return update


def _cleaned_chunk(update: Members) -> Members | None:
    blocks = items(update.get("content"))
    if blocks is not None:
        return _cleaned_blocks(update, blocks)
    content = members(update.get("content"))
    said = text(content, "text")
    if content is None or said is None:
        return update
    left = without_ours(said)
    if left == said:
        return update
    return {**update, "content": {**content, "text": left}} if left.strip() else None


def _cleaned_blocks(update: Members, blocks: list[object]) -> Members | None:
    kept: list[object] = []
    changed = False
    for block in blocks:
        content = members(block)
        said = text(content, "text")
        left = None if said is None else without_ours(said)
        if content is None or left is None or left == said:
            kept.append(block)
            continue
        changed = True
        if left.strip():
            kept.append({**content, "text": left})
    if not changed:
        return update
    return {**update, "content": kept} if kept else None


def _cleaned_title(holder: Members) -> Members:
    title = text(holder, "title")
    left = None if title is None else without_ours(title, cut_short=True).strip()
    return holder if left == title else {**holder, "title": left or None}


def cleaned_list(result: Members) -> Members:
    """The result of `session/list` with our words cut out of the titles."""
    sessions = items(result.get("sessions"))
    if sessions is None:
        return result
    cleaned: list[object] = []
    for one in sessions:
        info = members(one)
        cleaned.append(one if info is None else _cleaned_title(info))
    return {**result, "sessions": cleaned}
