"""What an observer sees of the work itself: text, tool calls and their results, in the words of ACP. Pure.

One shape for both protocols: a dict with `sessionUpdate`, valid against the stable ACP schema. The three
updates of reminders are in `updates.py`. History is told with the same shapes; it holds messages only, so
no reminder can be in it.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

import msgspec

from tidings.agent.run import CONTINUE
from tidings.core.messages import Message
from tidings.core.reminder import Payload

ToolStatus: TypeAlias = Literal["pending", "in_progress", "completed", "failed"]

LONGEST_TITLE = 120


class Look(msgspec.Struct, frozen=True):
    """How a tool is shown: its ACP kind, its title, and which argument names a file or its first line."""

    kind: str
    title: str
    path: str | None = None
    line: str | None = None


LOOKS: dict[str, Look] = {
    "read_file": Look("read", "Read {path}", "path", "start"),
    "write_file": Look("edit", "Write {path}", "path"),
    "edit_file": Look("edit", "Edit {path}", "path"),
    "search": Look("search", "Search for {pattern}", "path"),
    "list_files": Look("search", "List {path}", "path"),
    "run_command": Look("execute", "Run {command}"),
}
"""The built-in tools; any other is of kind `other` and titled by its name."""


def said(text: str, *, by_user: bool = False) -> Payload:
    """A piece of text, the agent's or in a told history the user's."""
    kind = "user_message_chunk" if by_user else "agent_message_chunk"
    return {"sessionUpdate": kind, "content": {"type": "text", "text": text}}


def mode_is(mode_id: str) -> Payload:
    """The session is in another mode now."""
    return {"sessionUpdate": "current_mode_update", "currentModeId": mode_id}


def window_use(used: int, size: int) -> Payload:
    """How full the context window is."""
    return {"sessionUpdate": "usage_update", "used": used, "size": size}


def call_shown(call_id: str, name: str, arguments: Mapping[str, object], root: str) -> Payload:
    """A tool call as it is shown to a person: the part that announcing it and asking about it share."""
    look = LOOKS.get(name, Look("other", name))
    shown: Payload = {
        "toolCallId": call_id,
        "title": _title(look, arguments),
        "kind": look.kind,
        "rawInput": dict(arguments),
    }
    places = _locations(look, arguments, root)
    return {**shown, "locations": places} if places else shown


def announced(shown: Payload, content: Sequence[Payload] = ()) -> Payload:
    """The model asked for a tool."""
    update: Payload = {"sessionUpdate": "tool_call", **shown, "status": "pending"}
    return {**update, "content": list(content)} if content else update


def progressed(call_id: str, status: ToolStatus, content: Sequence[Payload] | None = None) -> Payload:
    """A tool call went on; `content` None leaves what is shown as it is."""
    update: Payload = {"sessionUpdate": "tool_call_update", "toolCallId": call_id, "status": status}
    return update if content is None else {**update, "content": list(content)}


def text_content(text: str) -> Payload:
    """Text as the content of a tool call."""
    return {"type": "content", "content": {"type": "text", "text": text}}


def diff_content(path: str, old: str | None, new: str) -> Payload:
    """A change of a file as the content of a tool call; `old` None means that it is new."""
    diff: Payload = {"type": "diff", "path": path, "newText": new}
    return diff if old is None else {**diff, "oldText": old}


def absolute(root: str, path: str) -> str:
    """`path` of the workspace `root` as ACP wants it."""
    return posixpath.normpath(posixpath.join(root, path))


def history(messages: Sequence[Message], root: str, *, running: bool = False) -> Iterator[Payload]:
    """The conversation so far as updates; what the loop itself put in to go on is not the user's word.

    Unless the session is `running`, a call without a result was cut off and will get none.
    """
    for message in messages:
        if message.get("content") != CONTINUE:
            yield from _told(message, root)
    if not running:
        for call_id in _unanswered(messages):
            yield progressed(call_id, "failed", [text_content("It was cut off before it had a result.")])


def _unanswered(messages: Sequence[Message]) -> list[str]:
    answered = {message.get("tool_call_id") for message in messages if message.get("role") == "tool"}
    return [call[0] for message in messages for call in calls_of(message) if call[0] not in answered]


def _told(message: Message, root: str) -> Iterator[Payload]:
    role, texts = message.get("role"), [text for text in texts_of(message.get("content")) if text.strip()]
    if role == "tool":
        status: ToolStatus = "failed" if message.get("is_error") else "completed"
        yield progressed(str(message.get("tool_call_id")), status, [text_content(text) for text in texts])
        return
    for text in texts:
        yield said(text, by_user=role == "user")
    for call in calls_of(message):
        yield announced(call_shown(*call, root))


def texts_of(content: object) -> list[str]:
    """The texts of a message's content; an image is named, not shown."""
    if isinstance(content, str):
        return [content]
    blocks = content if isinstance(content, (list, tuple)) else ()
    return [str(block.get("text", "[image]")) for block in blocks if isinstance(block, Mapping)]


def calls_of(message: Message) -> list[tuple[str, str, Payload]]:
    """Id, name and arguments of the tool calls in an assistant's message."""
    found = message.get("tool_calls")
    calls = (
        [call for call in found if isinstance(call, Mapping)] if isinstance(found, (list, tuple)) else []
    )
    return [(str(call.get("id")), str(call.get("name")), _object(call.get("arguments"))) for call in calls]


def _object(value: object) -> Payload:
    return dict(value) if isinstance(value, Mapping) else {}


def _title(look: Look, arguments: Mapping[str, object]) -> str:
    values = {"path": ".", "pattern": "", "command": "", **arguments}
    title = look.title
    for name in ("path", "pattern", "command"):
        title = title.replace(f"{{{name}}}", " ".join(str(values[name]).split()))
    return title if len(title) <= LONGEST_TITLE else f"{title[: LONGEST_TITLE - 1]}…"


def _locations(look: Look, arguments: Mapping[str, object], root: str) -> list[Payload]:
    path = arguments.get(look.path) if look.path else None
    if not isinstance(path, str):
        return []
    place: Payload = {"path": absolute(root, path)}
    line = arguments.get(look.line) if look.line else None
    is_line = isinstance(line, int) and not isinstance(line, bool) and line >= 0
    return [{**place, "line": line} if is_line else place]
