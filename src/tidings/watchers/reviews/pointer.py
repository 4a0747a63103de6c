"""JSON pointers (RFC 6901): a place in a decoded document. Pure."""

from __future__ import annotations

from tidings.core.producers import shown
from tidings.errors import CallerError


def read_pointer(text: str) -> tuple[str, ...]:
    """The steps of a pointer such as `/data/0/title`; "" is the whole document.

    Raises:
        CallerError: it does not begin with `/`.
    """
    if not text:
        return ()
    if not text.startswith("/"):
        raise CallerError(f"a JSON pointer begins with /, such as /items; got {shown(text)}")
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in text[1:].split("/"))


def at(value: object, steps: tuple[str, ...]) -> object:
    """What stands there; None when nothing does."""
    for step in steps:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and step.isdigit() and int(step) < len(value):
            value = value[int(step)]
        else:
            return None
    return value
