"""Remember, recall, forget and list as tools: what a model is told about each, and what a call does.

Plain functions of a store, a project and arguments, with JSON schemas; whoever serves them (an MCP server,
an agent loop) adds the transport. A tool sees one project and what holds everywhere, and forgets only what
it is given the id or the key of.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import msgspec

from tidings.core.reminder import Payload
from tidings.memory.answer import MOST_CHARS, MOST_ITEMS, Answer, Budget
from tidings.memory.entry import EVERYWHERE, FIELDS, TOLD, Memory, checked, to_line
from tidings.memory.failure import MemoryInputError
from tidings.memory.ingest import Redact, refuse_secrets, refuse_seen
from tidings.memory.purge import SELECTION
from tidings.memory.store import MemoryStore
from tidings.recall.checks import Wrong

Run: TypeAlias = Callable[[MemoryStore, str, Redact, Mapping[str, object]], Payload]

MOST_LISTED = 100


class MemoryTool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool: its name, what the model is told, the schema of its arguments, and what it does."""

    name: str
    description: str
    schema: Payload
    run: Run
    read_only: bool = False


def remember(store: MemoryStore, project: str, redact: Redact, arguments: Mapping[str, object]) -> Payload:
    """Remember one thing in `project`, or everywhere."""
    options = dict(arguments)
    everywhere = _flag("everywhere", options.pop("everywhere", False))
    if not _flag("force", options.pop("force", False)):
        refuse_secrets(options, redact)
    refuse_seen(options.get("kind"))
    done = store.remember(options, project=EVERYWHERE if everywhere else project)
    return {"id": done.memory.id, "new": done.new, "replaced": list(done.replaced)}


def recall(store: MemoryStore, project: str, _redact: Redact, arguments: Mapping[str, object]) -> Payload:
    """What is remembered about a question."""
    given = checked(
        "recall",
        {"query": _query, "max_items": _count, "max_chars": _count},
        arguments,
        required=("query",),
    )
    limits = {name: given[name] for name in ("max_items", "max_chars") if name in given}
    budget = msgspec.convert({**msgspec.to_builtins(Budget()), **limits}, Budget)
    return said(store.recall(str(given["query"]), project=project, budget=budget))


def forget(store: MemoryStore, project: str, _redact: Redact, arguments: Mapping[str, object]) -> Payload:
    """Forget for good what has these ids or this key."""
    given = checked("forget", {"id": SELECTION["id"], "key": SELECTION["key"]}, arguments)
    if not given:
        raise MemoryInputError("forget", ("give `id` or `key`; nothing was forgotten",))
    ids: list[str] = []
    for home in dict.fromkeys((project, EVERYWHERE)):
        done = store.forget(given, project=home)
        ids += done.ids
        if not done.verified:
            return {"forgotten": ids, "verified": False, "reason": done.reason}
    return {"forgotten": ids, "verified": True}


def listed(store: MemoryStore, project: str, _redact: Redact, arguments: Mapping[str, object]) -> Payload:
    """The newest memories of the project, and of those that hold everywhere."""
    given = checked("list", {"limit": _count, "outdated": _bool}, arguments)
    limit = given.get("limit", 20)
    assert isinstance(limit, int)
    found = store.list(project=project, limit=min(limit, MOST_LISTED), outdated=bool(given.get("outdated")))
    return {"memories": [shown(memory) for memory in found]}


def said(answer: Answer) -> Payload:
    """An answer as JSON."""
    items = [
        {name: value for name, value in msgspec.to_builtins(item).items() if name != "sha"}
        for item in answer.items
    ]
    return {"memories": items, "silent": answer.silent} if answer.silent else {"memories": items}


def shown(memory: Memory) -> Payload:
    """A memory as JSON, without what only exports need."""
    return {
        name: value for name, value in to_line(memory).items() if name not in ("schema", "last_surfaced")
    }


def _query(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise Wrong("must be a question in words")
    return value


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise Wrong("must be a whole number, 1 or more")
    return value


def _bool(value: object) -> bool:
    if not isinstance(value, bool):
        raise Wrong("must be true or false")
    return value


def _flag(name: str, value: object) -> bool:
    if isinstance(value, bool):
        return value
    raise MemoryInputError("remember", (f"`{name}` must be true or false; got {value!r}",))


def _schema(properties: Payload, required: tuple[str, ...] = ()) -> Payload:
    said: Payload = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**said, "required": list(required)} if required else said


def _text(description: str) -> Payload:
    return {"type": "string", "description": description}


_FLAG: Payload = {"type": "boolean"}
_STRINGS: Payload = {"type": "array", "items": {"type": "string"}}
_PROPERTIES: dict[str, Payload] = {
    "text": _text("What to remember: one statement that can be understood on its own."),
    "kind": {"type": "string", "enum": list(TOLD)},
    "role": {"type": "string", "enum": ["user", "assistant"], "description": "Whose statement it is."},
    "key": _text("What it is about, such as api-host: a newer memory with the same key takes its place."),
    "replaces": {**_STRINGS, "description": "Ids of memories that this one takes the place of."},
    "created": _text("When it was said, ISO 8601; now, unless given."),
    "valid_from": _text("From when on it holds, ISO 8601."),
    "valid_to": _text("Until when it holds, ISO 8601."),
    "source": _text("Where it comes from, such as a link."),
    "conversation": _text("The conversation it was said in."),
    "tags": _STRINGS,
    "pinned": {**_FLAG, "description": "Prefer it over others."},
}

TOOLS: tuple[MemoryTool, ...] = (
    MemoryTool(
        name="remember",
        description="Remember one statement for later conversations. Not for secrets.",
        schema=_schema(
            {
                **{name: _PROPERTIES[name] for name in FIELDS if name in _PROPERTIES},
                "everywhere": {**_FLAG, "description": "Holds in all projects."},
                "force": {**_FLAG, "description": "Remember it although it looks like a secret."},
            },
            ("text",),
        ),
        run=remember,
    ),
    MemoryTool(
        name="recall",
        description="What is remembered about a question, the most relevant first, with date and source.",
        schema=_schema(
            {
                "query": _text("What to look for, in words."),
                "max_items": {"type": "integer", "minimum": 1, "default": MOST_ITEMS},
                "max_chars": {"type": "integer", "minimum": 1, "default": MOST_CHARS},
            },
            ("query",),
        ),
        run=recall,
        read_only=True,
    ),
    MemoryTool(
        name="forget",
        description="Forget memories for good, by id or by key. It cannot be undone.",
        schema=_schema({"id": _STRINGS, "key": _text("All memories with this key.")}),
        run=forget,
    ),
    MemoryTool(
        name="list",
        description="The newest memories, whole.",
        schema=_schema(
            {
                "limit": {"type": "integer", "minimum": 1, "maximum": MOST_LISTED, "default": 20},
                "outdated": {**_FLAG, "description": "Also those that no longer hold."},
            }
        ),
        run=listed,
        read_only=True,
    ),
)
BY_NAME = {tool.name: tool for tool in TOOLS}
