"""The lenient builder: a reminder-like dict becomes a `Reminder` whatever it holds (seed 001).

For pipeline code that already has a normalised dict. What is missing or wrong becomes its
default; nothing raises. The strict gate is `producers.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import msgspec

from tidings.core.reminder import OPERATOR, PROPAGATE, ROLE_HINTS, SOURCES, Meta, Reminder
from tidings.core.text import is_unicode

_C = TypeVar("_C", bound=str)


def build_leniently(options: Mapping[str, object], *, id: str) -> Reminder:
    """The lenient builder's reminder: what is missing or wrong becomes its default (seed 001).

    A trust tier in `_meta.tidings` is kept, because it can only lower what pipeline code has.
    """
    return Reminder(
        id=_text(options.get("id")).strip() or id,
        tags=_lenient_tags(options.get("tags")),
        dedupe_key=_text(options.get("dedupe_key")).strip() or None,
        ttl_turns=_lenient_int(options.get("ttl_turns")),
        preserve_on_compact=options.get("preserve_on_compact") is True,
        propagate=_choice(options.get("propagate"), PROPAGATE, "session"),
        role_hint=_choice(options.get("role_hint"), ROLE_HINTS, "system"),
        source=_choice(options.get("source"), SOURCES, "in_pipeline"),
        body=_text(options.get("body")),
        fired_at_turn=max(0, _lenient_int(options.get("fired_at_turn")) or 0),
        originating_agent_id=_text(options.get("originating_agent_id")) or None,
        meta=_lenient_meta(options.get("_meta")),
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        return ""
    return value if is_unicode(value) else value.encode("utf-8", "replace").decode()


def _lenient_tags(value: object) -> tuple[str, ...]:
    given = value if isinstance(value, (list, tuple)) else ()
    return tuple(dict.fromkeys(tag.strip() for tag in map(_text, given) if tag.strip()))


def _lenient_int(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _choice(value: object, choices: tuple[_C, ...], default: _C) -> _C:
    return next((choice for choice in choices if choice == value), default)


def _lenient_meta(value: object) -> Meta | None:
    try:
        meta = msgspec.convert(value, Meta | None)
    except msgspec.ValidationError:
        return None
    return None if meta is None or meta.tidings in (None, OPERATOR) else meta
