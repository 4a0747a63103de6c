"""The hosts as the code has them: for hosts.md and connect-coding-agents.md."""

from __future__ import annotations

from docs.parts.markdown import code, table
from tidings.cli.connecting.wiring import TRUST
from tidings.hosts import claude_code, codex
from tidings.hosts.happening import HOSTS, PUSH, WAKE, Event
from tidings.hosts.reach import LABELS, REACH
from tidings.hosts.settings.wiring import EVENTS as HOOKED
from tidings.hosts.table import TONGUES
from tidings.hosts.voice import FOLLOWS, GO_ON, OPENING, WITH_IT

_VARIANTS = {"claude-code": claude_code.VARIANTS, "codex": codex.VARIANTS}


def reach() -> str:
    """What each host can do: one row for each ability."""
    rows = []
    for name, label in LABELS.items():
        cells = [getattr(REACH[host], name) for host in HOSTS]
        rows.append((label, *(f"{cell.how}: {cell.note}" for cell in cells)))
    rows.append(("a delivery is safe in", *(f"the {REACH[host].durability}" for host in HOSTS)))
    rows.append(("bytes in one answer", *(f"{REACH[host].limit:,}" for host in HOSTS)))
    return table(("", *HOSTS), rows)


def events() -> str:
    """What each event of each host means to us; those that mean nothing are left out."""
    rows = []
    for host in HOSTS:
        known = {name: event for name, event in TONGUES[host].events.items() if event != Event()}
        more = {f"{name} ({source})": event for (name, source), event in _VARIANTS.get(host, {}).items()}
        for name, event in {**known, **more}.items():
            if name not in (WAKE, PUSH):
                rows.append((host, f"`{name}`", event.seam or event.phase or "-", _does(event)))
    return table(("host", "event", "seam", "what it does"), rows)


def _does(event: Event) -> str:
    said = {
        "carries text": event.carries,
        "declines the call": event.declines,
        "keeps the agent going": event.goes_on,
        "a request was answered": event.answered,
        "a request follows": event.asks,
    }
    return ", ".join(words for words, holds in said.items() if holds) or "the session is known"


def hooked() -> str:
    """The events that `connect` hooks."""
    return table(("host", "events"), [(host, code(names)) for host, names in HOOKED.items()])


def trust() -> str:
    """What each host asks of its user."""
    return "\n".join(f"- **{host}**: {TRUST[host]}" for host in HOSTS)


def voice() -> str:
    """The fixed words."""
    rows = [
        ("before the news", OPENING),
        ("a call that is declined", FOLLOWS),
        ("the other calls of that batch, where the first one told it", WITH_IT),
        ("an ending that is continued, in Gemini CLI", GO_ON),
    ]
    return table(("where", "words"), rows)
