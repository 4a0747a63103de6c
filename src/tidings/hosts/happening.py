"""What a host told us and what it is told, in nobody's spelling. Values.

An `Event` is a row of a host's table: which seam it is, and what its answer may do. A `Happening` is one
such event in one session. A `Delivery` is what the answer should carry. A payload in which no session can
be found is an `Odd`: it gets the neutral answer, and a warning is kept.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

import msgspec

from tidings.core.reminder import Payload
from tidings.core.seams import Seam

Host: TypeAlias = Literal["claude-code", "codex", "gemini", "opencode"]
HOSTS: tuple[Host, ...] = get_args(Host)

Phase: TypeAlias = Literal["starts", "prompted", "compacted", "ends", "child_starts", "child_ends"]

NEUTRAL: Payload = {}
"""The answer that changes nothing, for every host."""


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """What one event of a host means.

    `seam` is where it stands in a loop. Its answer may carry text to the model (`carries`), refuse the
    pending call (`declines`) or keep the agent from ending (`goes_on`). `answered` says that a model
    request was answered before it, `asks` that one follows before any other event, `requests` that one
    goes out now, `midway` that one may be under way.
    """

    seam: Seam | None = None
    phase: Phase | None = None
    carries: bool = False
    declines: bool = False
    goes_on: bool = False
    answered: bool = False
    asks: bool = False
    requests: bool = False
    midway: bool = False


WAKE = "tidings.wake"
"""The event of ours with which whoever waits for an idle session fetches what wakes it."""

WAKING = Event(seam="daemon_idle_post", carries=True)

PUSH = "tidings.push"
"""The event of ours with which the hub fetches what it gives to a working session by itself."""

PUSHING = Event(seam="post_tool_dispatch", carries=True, midway=True)


class Happening(msgspec.Struct, frozen=True, kw_only=True):
    """One event in one session of a host.

    `session_id` is the host's own; `agent_id` names a sub-agent of that session. `calls` are the tool calls
    it is about, `batch` marks the calls of one answer, `wrote` are the files that they wrote. `continued`
    says that the agent goes on already because a hook asked for it. `odd` holds what was not as expected,
    to be kept as warnings.
    """

    host: Host
    name: str
    session_id: str
    event: Event
    agent_id: str | None = None
    workspace: str | None = None
    calls: tuple[str, ...] = ()
    batch: str | None = None
    continued: bool = False
    transcript: str | None = None
    wrote: tuple[str, ...] = ()
    odd: tuple[str, ...] = ()


class Odd(msgspec.Struct, frozen=True):
    """A payload that no session can be found in, and why."""

    host: Host
    message: str


class Delivery(msgspec.Struct, frozen=True):
    """What an answer does: carry `text`, refuse the call because of `decline`, keep the agent going."""

    text: str = ""
    decline: str = ""
    go_on: bool = False
