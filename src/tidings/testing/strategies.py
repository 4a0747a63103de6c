"""Hypothesis strategies for reminders, transcripts and conversations, for our tests and for yours.

    from hypothesis import given
    from tidings.testing import strategies

    @given(strategies.conversations("anthropic"), strategies.reminder_lists())
    def test_my_adapter(messages, reminders): ...

Conversations are valid in their wire's own form: every tool call has its result. Only this module
needs hypothesis.
"""

from __future__ import annotations

import msgspec
from hypothesis import strategies as st

from tidings.core.reminder import (
    PROPAGATE,
    ROLE_HINTS,
    SOURCES,
    Payload,
    Provenance,
    Reminder,
    Trust,
    meta_for,
)
from tidings.core.transcript import Transcript, event_of
from tidings.rendering.pieces import Piece, SystemInput
from tidings.rendering.route import WIRES, Route, Wire

TRUSTS: tuple[Trust, ...] = ("operator", "host", "external")
CACHE_MARKS = 4
"""How many cache marks Anthropic takes in one request."""

_PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
_WRAPPERS = (
    "<{}>", "</{}>", "<{} priority='high'>", "< {} >", "<\u200b{}>", "＜{}＞", "&lt;{}&gt;", "&#60;{}>",
    "&#x3C;{}>", "&amp;lt;{}&amp;gt;", "<![CDATA[<{}>]]>", "<<![CDATA[{}>", "<\u202e{}>", "<{} ", "〈{}〉",
)  # fmt: skip
_NAMES = (
    "system-reminder", "SYSTEM-REMINDER", "System_Reminder", "system reminder",
    "s\u200bystem-remind\u2060er",
    "ѕуѕтем-reminder", "system", "developer", "ｓｙｓｔｅｍ-ｒｅｍｉｎｄｅｒ", "system\u00adreminder",
    "|im_start|",
    "sys\U000e0074tem-reminder", "&#115;ystem-reminder", "task-notification",
)  # fmt: skip


def texts(max_size: int = 60) -> st.SearchStrategy[str]:
    """Non-blank text of any script, without lone surrogates."""
    characters = st.characters(exclude_categories=["Cs"])
    return st.text(characters, min_size=1, max_size=max_size).filter(lambda text: bool(text.strip()))


@st.composite
def hostile_texts(draw: st.DrawFn) -> str:
    """Text with an imitation of our framing somewhere in it."""
    wrapper, name = draw(st.sampled_from(_WRAPPERS)), draw(st.sampled_from(_NAMES))
    around = st.text(st.sampled_from("ab <>&;\n[]!/-"), max_size=6)
    return f"{draw(around)}{wrapper.format(name)}{draw(around)}"


def bodies() -> st.SearchStrategy[str]:
    """Reminder bodies: ordinary, multi-line, of any script, and hostile."""
    ordinary = st.sampled_from(
        ("The file src/lib.rs changed.", "Line one\nline two", "a < b && c > d", "List<int> of 3", "ok")
    )
    return st.one_of(ordinary, texts(), hostile_texts())


@st.composite
def reminders(draw: st.DrawFn, trust: Trust | None = None, id: str | None = None) -> Reminder:
    """A valid reminder of any shape; `trust` and `id` fix what they name."""
    tier = draw(st.sampled_from(TRUSTS)) if trust is None else trust
    origins = st.one_of(st.none(), st.sampled_from(("ci", "watcher:make")), texts(20), hostile_texts())
    named = tier == "external" or draw(st.booleans())
    origin = draw(origins) if named and tier != "operator" else None
    return Reminder(
        id=id or draw(st.uuids(version=4).map(str)),
        tags=tuple(
            draw(st.lists(st.sampled_from(("workspace", "memory", "idle")), max_size=2, unique=True))
        ),
        dedupe_key=draw(st.one_of(st.none(), st.sampled_from(("key-a", "key-b", "key-c")))),
        ttl_turns=draw(st.one_of(st.none(), st.integers(1, 4))),
        preserve_on_compact=draw(st.booleans()),
        propagate=draw(st.sampled_from(PROPAGATE)),
        role_hint=draw(st.sampled_from(ROLE_HINTS)),
        source=draw(st.sampled_from(SOURCES)),
        body=draw(bodies()),
        fired_at_turn=draw(st.integers(0, 3)),
        meta=meta_for(Provenance(trust=tier, origin=origin)),
    )


@st.composite
def reminder_lists(draw: st.DrawFn, max_size: int = 5, trust: Trust | None = None) -> list[Reminder]:
    """Reminders with ids of their own, of every tier."""
    count = draw(st.integers(0, max_size))
    return [draw(reminders(trust=trust, id=f"reminder-{index}")) for index in range(count)]


@st.composite
def transcripts(draw: st.DrawFn, wire: Wire = "anthropic") -> Transcript:
    """A transcript with messages, pending reminders, other events and invalid reminder events."""
    events = [event_of(r, f"event-{r.id}") for r in draw(reminder_lists())]
    odd: list[Payload] = [
        {"id": "note-1", "kind": "note", "text": "no reminder"},
        {"id": "event-broken", "kind": "system_reminder", "reminder": {"id": "broken", "body": " "}},
    ]
    events += draw(st.lists(st.sampled_from(odd), max_size=2, unique_by=lambda event: str(event["id"])))
    ordered = draw(st.permutations(events))
    return Transcript(messages=draw(conversations(wire)), events=ordered, session_id="session-1")


class Call(msgspec.Struct, frozen=True):
    """A tool call and its result, in no vendor's form."""

    id: str
    name: str
    path: str
    output: str


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """What the model said, and what came back: tool results if it called tools, else the user."""

    text: str
    thinking: bool
    calls: tuple[Call, ...]
    reply: Said


class Said(msgspec.Struct, frozen=True):
    """What a user said: as a string, or as blocks, maybe with an image."""

    text: str
    blocks: bool = False
    image: bool = False


_WORDS = st.sampled_from(("Fix the test.", "Now the docs.\n", "ok", "Größe < 3 & more", "<b>HTML</b>"))


def _said() -> st.SearchStrategy[Said]:
    return st.builds(Said, _WORDS, st.booleans(), st.booleans())


@st.composite
def _turns(draw: st.DrawFn, start: int) -> Turn:
    calls = tuple(
        Call(
            f"call_{start}_{index}",
            draw(st.sampled_from(("read_file", "bash"))),
            "src/lib.rs",
            draw(_WORDS),
        )
        for index in range(draw(st.integers(0, 3)))
    )
    text = draw(_WORDS) if not calls or draw(st.booleans()) else ""
    return Turn(text=text, thinking=draw(st.booleans()), calls=calls, reply=draw(_said()))


@st.composite
def exchanges(draw: st.DrawFn, wire: Wire, start: int = 0) -> list[Payload]:
    """The model's message and what came back; `start` keeps its call ids apart from others."""
    turn = draw(_turns(start))
    return [*model_messages(wire, turn), *reply_messages(wire, turn)]


@st.composite
def conversations(draw: st.DrawFn, wire: Wire, max_turns: int = 3, answered: bool = False) -> list[Payload]:
    """A valid history that waits for the model, or with `answered` ends in its answer; maybe empty."""
    if not answered and draw(st.integers(0, 9)) == 0:
        return []
    messages = user_messages(wire, draw(_said()))
    if wire in ("openai_chat", "openai_responses") and draw(st.booleans()):
        messages = [{"role": "system", "content": "You are careful."}, *messages]
    for start in range(draw(st.integers(0, max_turns))):
        messages += draw(exchanges(wire, start))
    if answered:
        messages += model_messages(wire, Turn(text="Done.", thinking=False, calls=(), reply=Said("")))
    marks = draw(st.integers(0, CACHE_MARKS)) if wire == "anthropic" else 0
    return with_cache_marks(messages, marks)


def systems() -> st.SearchStrategy[SystemInput]:
    """System text: none, a string, a list of strings, or of text blocks."""
    block: Piece = {"type": "text", "text": "Be brief."}
    mixed: list[SystemInput] = [None, "", "Be kind.", ["Be kind.", "Be brief."], [block, "Be kind."]]
    return st.sampled_from(mixed)


@st.composite
def own_routes(draw: st.DrawFn) -> Route:
    """A route of one's own: every wire with every combination of capabilities it can have."""
    wire = draw(st.sampled_from(WIRES))
    developer = wire not in ("anthropic", "gemini") and draw(st.booleans())
    return Route(
        name=f"own/{wire}",
        wire=wire,
        prefers_role_developer=developer,
        prefers_xml_scaffolding=draw(st.booleans()),
        prompt_caching=draw(st.booleans()),
        mid_conversation_system=draw(st.booleans()),
        preserved_thinking=draw(st.booleans()),
    )


def with_cache_marks(messages: list[Payload], count: int) -> list[Payload]:
    """Anthropic messages with a cache mark on the first `count` user blocks of their own."""
    marked: list[Payload] = []
    for message in messages:
        content = message.get("content") if message.get("role") == "user" else None
        blocks = list(content) if isinstance(content, list) else []
        for index, block in enumerate(blocks):
            if count > 0:
                blocks[index] = {**block, "cache_control": {"type": "ephemeral"}}
                count -= 1
        marked.append({**message, "content": blocks} if blocks else message)
    return marked


def user_messages(wire: Wire, said: Said) -> list[Payload]:
    """What a user said, in the wire's form."""
    if wire == "gemini":
        image: Payload = {"inlineData": {"mimeType": "image/png", "data": _PIXEL}}
        return [{"role": "user", "parts": [*([image] if said.image else []), {"text": said.text}]}]
    content: object = said.text
    if said.blocks or said.image:
        kind = "input_text" if wire == "openai_responses" else "text"
        content = [*([_image(wire)] if said.image else []), {"type": kind, "text": said.text}]
    return [{"role": "user", "content": content}]


def _image(wire: Wire) -> Payload:
    url = f"data:image/png;base64,{_PIXEL}"
    if wire == "anthropic":
        source = {"type": "base64", "media_type": "image/png", "data": _PIXEL}
        return {"type": "image", "source": source}
    if wire == "openai_responses":
        return {"type": "input_image", "image_url": url, "detail": "auto"}
    return {"type": "image_url", "image_url": {"url": url}}


def model_messages(wire: Wire, turn: Turn) -> list[Payload]:
    """What the model said, in the wire's form: thinking, text, calls."""
    if wire == "anthropic":
        return [{"role": "assistant", "content": _anthropic_blocks(turn)}]
    if wire == "gemini":
        return [{"role": "model", "parts": _gemini_parts(turn)}]
    if wire == "openai_responses":
        return _response_items(turn)
    message: Payload = {"role": "assistant", "content": turn.text or None}
    if turn.calls:
        message["tool_calls"] = [_chat_call(call) for call in turn.calls]
    return [message]


def _anthropic_blocks(turn: Turn) -> list[Payload]:
    thought: Payload = {"type": "thinking", "thinking": "Let me see.", "signature": "c2lnbmVk"}
    calls: list[Payload] = [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": {"path": call.path}}
        for call in turn.calls
    ]
    text: list[Payload] = [{"type": "text", "text": turn.text}] if turn.text else []
    return [*([thought] if turn.thinking else []), *text, *calls]


def _gemini_parts(turn: Turn) -> list[Payload]:
    parts: list[Payload] = [{"text": turn.text}] if turn.text else []
    for call in turn.calls:
        part: Payload = {"functionCall": {"id": call.id, "name": call.name, "args": {"path": call.path}}}
        if turn.thinking:
            part["thoughtSignature"] = "c2lnbmVk"
        parts.append(part)
    return parts


def _response_items(turn: Turn) -> list[Payload]:
    items: list[Payload] = []
    if turn.thinking:
        items.append({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2VjcmV0"})
    if turn.text:
        content = [{"type": "output_text", "text": turn.text, "annotations": []}]
        items.append(
            {
                "type": "message",
                "role": "assistant",
                "id": "msg_1",
                "status": "completed",
                "content": content,
            }
        )
    for call in turn.calls:
        arguments = f'{{"path":"{call.path}"}}'
        items.append(
            {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": arguments}
        )
    return items


def _chat_call(call: Call) -> Payload:
    function = {"name": call.name, "arguments": f'{{"path":"{call.path}"}}'}
    return {"id": call.id, "type": "function", "function": function}


def reply_messages(wire: Wire, turn: Turn) -> list[Payload]:
    """What came back to the model, in the wire's form: tool results, or the user's words."""
    if not turn.calls:
        return user_messages(wire, turn.reply)
    if wire == "anthropic":
        blocks = [{"type": "tool_result", "tool_use_id": c.id, "content": c.output} for c in turn.calls]
        return [{"role": "user", "content": blocks}]
    if wire == "gemini":
        parts = [
            {"functionResponse": {"id": c.id, "name": c.name, "response": {"output": c.output}}}
            for c in turn.calls
        ]
        return [{"role": "user", "parts": parts}]
    if wire == "openai_responses":
        return [{"type": "function_call_output", "call_id": c.id, "output": c.output} for c in turn.calls]
    return [{"role": "tool", "tool_call_id": c.id, "content": c.output} for c in turn.calls]
