"""What an author emits becomes a reminder and its event, or every problem is named at once. Pure.

The fields go through the gate of all producers; beyond that a server may emit only what it advertised, and
nothing so large that a host would drop it unread. What is wrong never gets as far as a queue.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tidings.core.producers import build, shown
from tidings.core.reminder import Payload, Reminder
from tidings.core.text import is_unicode
from tidings.errors import DiagnosticError, Problem
from tidings.mcp.advertisement import Advertised
from tidings.mcp.budget import LARGEST_FRAME
from tidings.mcp.events import Event, reminder_event
from tidings.mcp.names import SESSION_META
from tidings.mcp.notification import params_of

CONTEXT = "reminders.emit"
SHAPE = "HARN-RMD-002"

LONGEST_BODY = 64 * 1024
"""How many characters a body may have: a reminder is a sentence, a document is a resource."""

LARGEST = LARGEST_FRAME // 2
"""How many bytes the params of one notification may have; hosts drop what is far larger unread."""

_encode = msgspec.json.Encoder().encode


def checked(
    options: Mapping[str, object],
    advertised: Advertised,
    *,
    id: str,
    session: object = None,
    meta: object = None,
) -> tuple[Reminder, Event]:
    """The reminder that `options` describe, and the event that tells it.

    Raises:
        DiagnosticError: with every problem, each with its HARN-RMD code.
    """
    reminder = build("mcp", options, id)
    problems = [*_beyond(reminder, advertised), *_around(session, meta)]
    if problems:
        raise DiagnosticError(CONTEXT, tuple(problems))
    more: Payload = {}
    if isinstance(meta, Mapping):
        more.update(meta)
    if session is not None:
        more[SESSION_META] = session
    params = params_of(reminder, meta=more)
    _refuse_unwritable(params)
    handle = session if isinstance(session, str) else None
    key = None if reminder.dedupe_key is None else f"reminder:{handle or ''}:{reminder.dedupe_key}"
    return reminder, reminder_event(params, key=key, session=handle)


def checked_uri(uri: object) -> str:
    """The uri of a resource.

    Raises:
        DiagnosticError: it is none.
    """
    if isinstance(uri, str) and uri.strip() and is_unicode(uri):
        return uri
    fix = f"`resource` must be the uri of a resource; got {shown(uri)}"
    raise DiagnosticError(CONTEXT, (Problem(SHAPE, "resource", shown(uri), fix),))


def _beyond(reminder: Reminder, advertised: Advertised) -> list[Problem]:
    problems: list[Problem] = []
    if (size := len(reminder.body)) > LONGEST_BODY:
        fix = f"`body` may have {LONGEST_BODY} characters; it has {size}: make it a resource and say so"
        problems.append(Problem(SHAPE, "body", f"{size} characters", fix))
    for code, name, allowed in (
        ("HARN-RMD-005", "propagate", advertised.propagate),
        (SHAPE, "role_hint", advertised.role_hints),
    ):
        if (value := getattr(reminder, name)) not in allowed:
            told = ", ".join(allowed)
            fix = f"`{name}` {value!r} is not advertised ({told}); advertise it: Reminders(server, …)"
            problems.append(Problem(code, name, value, fix))
    return problems


def _around(session: object, meta: object) -> list[Problem]:
    problems: list[Problem] = []
    if session is not None and not (isinstance(session, str) and session and is_unicode(session)):
        fix = f"`session` must be a conversation's handle, as its client named it; got {shown(session)}"
        problems.append(Problem(SHAPE, "session", shown(session), fix))
    if meta is not None and not (isinstance(meta, Mapping) and all(isinstance(key, str) for key in meta)):
        fix = f"`meta` must be an object with text as keys; got {shown(meta)}"
        problems.append(Problem(SHAPE, "meta", shown(meta), fix))
    return problems


def _refuse_unwritable(params: Payload) -> None:
    try:
        size = len(_encode(params))
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        fix = f"`meta` must hold only what JSON can say: {error}"
        raise DiagnosticError(CONTEXT, (Problem(SHAPE, "meta", "", fix),)) from None
    if size > LARGEST:
        fix = f"the notification may have {LARGEST} bytes; it has {size}: say less"
        raise DiagnosticError(CONTEXT, (Problem(SHAPE, "", f"{size} bytes", fix),))
