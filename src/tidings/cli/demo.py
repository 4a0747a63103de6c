"""`tidings demo`: one reminder's life, on three routes side by side, with its records; then an agent.

Plays in a second, needs nothing but this package and ends by itself. `make run` calls it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

import tidings as td
from tidings.cli.demo_agent import play_agent
from tidings.core.records import LIFECYCLE_TOPIC

if TYPE_CHECKING:
    from tidings.log.record import LogRecord

ROUTES = ("anthropic/claude-sonnet-4-5", "openai/gpt-5", "gemini/gemini-2.5-pro")
SYSTEM = "You are a careful coding agent."
TASK = "Rename parse() to parse_line() everywhere."
FACTS = (
    ("src/lib.rs changed in another editor; re-read it before editing.", "file:src/lib.rs", 1),
    ("cargo check passed after your last edit.", "cargo-check", 2),
)
WIDE = 110


def demo() -> None:
    """Play a reminder's life on three routes with its log, then an agent that hears of things."""
    console = Console(highlight=False, soft_wrap=False)
    log = td.open_log("memory:")
    with td.active_log(log), td.scope(task_id="demo"):
        transcript = _inject(console)
        turn = 0
        while transcript.pending:
            turn += 1
            transcript = _turn(console, transcript, turn)
    _records(console, list(log.read(LIFECYCLE_TOPIC)))
    _line(
        console,
        "Agent",
        "a scripted agent renames a function; a hook, a provider and a watcher tell it things",
    )
    play_agent(console)
    _line(console, "Next", "examples/ has more to run; docs/index.md explains it.")


def _inject(console: Console) -> td.Transcript:
    _line(console, "Inject", "two facts reach a running session; nobody typed them")
    transcript = td.Transcript(messages=[{"role": "user"}], session_id="demo", agent_id="coder")
    for body, key, ttl in FACTS:
        result = td.inject_reminder(
            transcript, body=body, dedupe_key=key, ttl_turns=ttl, tags=["workspace"], role_hint="user_block"
        )
        transcript = result.transcript
        console.print(f"  {body}", style="cyan", end=" ")
        console.print(f"(key {key}, ttl {ttl})", style="dim")
    return transcript


def _turn(console: Console, transcript: td.Transcript, turn: int) -> td.Transcript:
    _line(console, f"Turn {turn}", "what the model's request holds, route by route")
    requests = [_render(name, transcript) for name in ROUTES]
    console.print(_beside(list(map(_panel, requests)), console.width))
    transcript = td.mark_fired(transcript, requests[0], turn=turn).transcript
    passed = td.post_turn(transcript, turn=turn)
    counts = f"{passed.expired_count} expired, {passed.remaining_count} still pending"
    _line(console, f"Post-turn {turn}", counts)
    return passed.transcript


def _render(name: str, transcript: td.Transcript) -> td.Request:
    if name.startswith("gemini/"):
        messages: list[dict[str, object]] = [{"role": "user", "parts": [{"text": TASK}]}]
    else:
        messages = [{"role": "user", "content": TASK}]
    return td.render(name, system=SYSTEM, messages=messages, reminders=transcript.pending)


def _panel(request: td.Request) -> Panel:
    table = Table.grid(padding=(0, 1))
    for place, text in leaves(request.body):
        ours = "reminder" in text
        table.add_row(Text(place, style="dim"), Text(text, style="cyan" if ours else "default"))
    return Panel(table, title=request.route, title_align="left", border_style="blue", expand=True)


def leaves(body: object, place: str = "") -> Iterator[tuple[str, str]]:
    """The texts of a request body, each with its place in it."""
    if isinstance(body, dict):
        role = f" {body['role']}" if "role" in body else ""
        for name, value in body.items():
            if name not in ("role", "type"):
                inner = "" if name in ("content", "parts", "text") else f".{name}"
                yield from leaves(value, f"{place}{role}{inner}".lstrip("."))
    elif isinstance(body, list):
        for index, value in enumerate(body):
            yield from leaves(value, f"{place}[{index}]")
    elif isinstance(body, str):
        yield place, body


def _beside(panels: list[Panel], width: int) -> Table:
    """Side by side on a wide terminal, one below the other elsewhere."""
    table = Table.grid(expand=True)
    if width >= WIDE:
        for _ in panels:
            table.add_column(ratio=1)
        table.add_row(*panels)
    else:
        for panel in panels:
            table.add_row(panel)
    return table


def _records(console: Console, records: list[LogRecord]) -> None:
    _line(console, "Log", f"every step is a record on {LIFECYCLE_TOPIC}")
    for record in records:
        detail = record.payload.get("reason") or record.payload.get("rendered_role") or ""
        name = record.kind.removeprefix("transcript.reminder.")
        console.print(
            Text(f"  {record.cursor:>2}  ", style="dim")
            + Text(f"{name:<9}", style="green" if name == "fired" else "yellow")
            + Text(f" {str(record.payload.get('reminder_id'))[-6:]}  {detail}")
        )


def _line(console: Console, title: str, text: str) -> None:
    console.print()
    console.print(Text(title, style="bold magenta") + Text(f"  {text}", style="default"))
