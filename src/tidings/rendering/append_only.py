"""Append-only placement: request N stays a byte prefix of request N+1 (decision 18).

A reminder becomes its own trailing entry, is kept at its place beside the messages, and is not
issued again while it stands there; one that was cleared or replaced since gets one line that says
so. Where nothing may follow the last message, what is new waits for the next request. Needed where
thinking blocks are bound to what stands before them, good for every cache.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from tidings.core.fire import Shown, Warned
from tidings.core.messages import Message
from tidings.core.reminder import Payload, Reminder
from tidings.core.table import Slot, slot_of
from tidings.core.transcript import Withdrawn
from tidings.errors import CallerError, PlacementError
from tidings.rendering.budget import Fitting, as_data, fitting, in_line
from tidings.rendering.pieces import Wire
from tidings.rendering.plan import Candidates, framed
from tidings.rendering.request import Issued
from tidings.rendering.route import Route

_EXCERPT = 60
_OPEN = "the last message is the assistant's and ends in a server tool: only a system message may follow"


class Appended(msgspec.Struct, frozen=True, kw_only=True):
    """The messages with everything issued at its place, and what is new."""

    messages: list[Message]
    issued: tuple[Issued, ...]
    fresh: Sequence[Reminder] = ()
    shown: tuple[Shown, ...] = ()
    lost: Mapping[str, str] = {}
    late: tuple[Reminder, ...] = ()
    held: str | None = None
    warnings: tuple[Warned, ...] = ()
    announced: frozenset[Slot] = frozenset()


def append(
    route: Route,
    wire: Wire,
    messages: Sequence[Message],
    found: Candidates,
    issued: Sequence[Issued],
) -> Appended:
    """Weave in what was issued and add what is new at the end.

    Raises:
        CallerError: something else than issued entries.
        PlacementError: the issued entries do not fit these messages.
    """
    _check(route, messages, issued)
    standing = {i for entry in issued for i in entry.reminder_ids}
    fresh = [reminder for reminder in found.reminders if slot_of(reminder) not in standing]
    gone = [note for note in found.withdrawn if note.slot in standing]
    role = operator_role(route, messages)
    held = _held(wire, weave(messages, issued), role) if fresh or gone else {}
    late = [reminder for reminder in fresh if _voice(reminder, role) in held]
    fit = fitting([reminder for reminder in fresh if _voice(reminder, role) not in held], found.waiting)
    said = [note for note in gone if _voice(note, role) not in held]
    entries = _entries(route, wire, messages, fit, said)
    everything = (*issued, *(entry for entry, _ in entries))
    return Appended(
        messages=weave(messages, everything),
        issued=everything,
        fresh=fit.kept,
        lost=_lost(route, role),
        shown=tuple(_shown(name, voice) for entry, voice in entries for name in entry.reminder_ids),
        late=tuple(in_line([*late, *fit.late], found.waiting)),
        held=next(iter(held.values())) if late or len(said) < len(gone) else None,
        warnings=fit.warnings,
        announced=frozenset(note.slot for note in said),
    )


def _held(wire: Wire, woven: Sequence[Message], role: str) -> dict[str, str]:
    """The voices in which nothing may be added now, and why.

    Behind a turn that ends in a server tool the vendor takes a system message, and nobody else's words.
    """
    closed = wire.closed(woven)
    if closed is not None:
        return {"user": closed, role: closed}
    if woven and woven[-1].get("role") == "assistant":
        return {voice: _OPEN for voice in ("user", role) if voice != "system"}
    return {}


def _voice(one: Reminder | Withdrawn, role: str) -> str:
    """Whose words an entry is in: external text never has the operator's voice."""
    return "user" if one.trust == "external" else role


def _shown(name: Slot, role: str) -> Shown:
    return Shown(name, role) if isinstance(name, str) else Shown(name[1], role, name[0])


def _lost(route: Route, role: str) -> dict[str, str]:
    """What to say of a hint that an entry of its own cannot keep (HARN-RMD-003)."""
    said = f"append-only requests to {route.name} cannot keep role_hint {{!r}}: it becomes a {role} entry"
    hints = ("ephemeral_cache",) if role == "user" else ("user_block", "ephemeral_cache")
    return {hint: said.format(hint) for hint in hints}


def operator_role(route: Route, messages: Sequence[Message]) -> str:
    """The role in which an operator's trailing entry is honoured on this route."""
    if route.prefers_role_developer:
        return "developer"
    if not route.mid_conversation_system or route.wire == "gemini":
        return "user"
    return "system" if messages else "user"


def _entries(
    route: Route,
    wire: Wire,
    messages: Sequence[Message],
    fit: Fitting,
    gone: Sequence[Withdrawn],
) -> list[tuple[Issued, str]]:
    """At most one entry in the user's voice and one in the operator's, in this order."""
    role = operator_role(route, messages)
    texts: dict[str, list[str]] = {"user": [], role: []}
    ids: dict[str, list[Slot]] = {"user": [], role: []}
    for note in gone:
        voice = _voice(note, role)
        texts[voice].append(_withdrawal(route, voice, note))
    for reminder in fit.kept:
        quote, voice = fit.quotes.get(id(reminder)), _voice(reminder, role)
        texts[voice].append(entry_text(route, voice, reminder.body) if quote is None else quote)
        ids[voice].append(slot_of(reminder))
    return [
        (_placed(route, wire, messages, voice, texts[voice], tuple(ids[voice])), voice)
        for voice in texts
        if texts[voice]
    ]


def _placed(
    route: Route,
    wire: Wire,
    messages: Sequence[Message],
    voice: str,
    texts: list[str],
    ids: tuple[Slot, ...],
) -> Issued:
    """A message of its own; on Gemini parts of the last content, which is the same turn."""
    if route.wire == "gemini" and messages:
        part: Payload = {"text": "\n\n".join(texts)}
        return Issued(at=len(messages) - 1, place="part", content=part, reminder_ids=ids)
    content = wire.message(voice, texts)
    return Issued(at=len(messages), place="message", content=content, reminder_ids=ids)


def entry_text(route: Route, voice: str, body: str) -> str:
    """A body in the frame that its entry gets in this voice."""
    tagged = voice == "user" or (voice == "system" and route.prefers_xml_scaffolding)
    return framed("system_xml" if tagged else "system_text", body)


def _withdrawal(route: Route, voice: str, note: Withdrawn) -> str:
    line = " ".join(note.body.split())
    excerpt = line if len(line) <= _EXCERPT else line[: _EXCERPT - 1] + "…"
    why = "was replaced by a newer one" if note.reason == "replaced" else "no longer applies"
    if note.trust == "external":
        return as_data(f"An earlier note from an external source {why}", excerpt)
    return entry_text(route, voice, f'An earlier reminder {why}: "{excerpt}"')


def weave(messages: Sequence[Message], issued: Sequence[Issued]) -> list[Message]:
    """`messages` with a copy of each issued entry at its place: callers set cache marks in a body."""
    before: dict[int, list[Payload]] = {}
    inside: dict[int, list[Payload]] = {}
    for entry in issued:
        places = before if entry.place == "message" else inside
        places.setdefault(entry.at, []).append(msgspec.to_builtins(entry.content))
    if not before and not inside:
        return list(messages)
    woven: list[Message] = []
    for index, message in enumerate(messages):
        woven += before.get(index, ())
        parts = inside.get(index)
        woven.append(message if parts is None else _with_parts(message, parts))
    return [*woven, *before.get(len(messages), ())]


def _with_parts(message: Message, parts: list[Payload]) -> Message:
    own = message.get("parts")
    return {**message, "parts": [*(own if isinstance(own, (list, tuple)) else ()), *parts]}


def _check(route: Route, messages: Sequence[Message], issued: Sequence[Issued]) -> None:
    for entry in issued:
        if not isinstance(entry, Issued):
            raise CallerError(f"`issued` holds what a Request gave as `.issued`; got {entry!r:.80}")
        if not 0 <= entry.at < len(messages) + (entry.place == "message"):
            raise PlacementError(
                f"an issued entry stands at {entry.at}, but there are only {len(messages)} messages; "
                "after compaction start anew with issued=()"
            )
        follows = messages[entry.at] if entry.at < len(messages) else None
        role = entry.content.get("role")
        answered = follows is None or follows.get("role") == "assistant"
        if route.wire == "anthropic" and role == "system" and not answered:
            raise PlacementError(
                f"messages[{entry.at}] follows a mid-conversation system entry and must be the "
                "assistant's; append the model's answer first, or start anew with issued=()"
            )
