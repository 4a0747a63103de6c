"""The second act of `tidings demo`: a scripted agent works in a small workspace and hears of things.

A hook, a canonical provider and somebody outside each send a reminder while it works; what every request
shows is printed as it is made. The workspace is a temporary folder; the model is a script.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.text import Text

import tidings as td
from tidings.agent.models.scripted import ScriptedModel, call
from tidings.agent.port import ToolCall
from tidings.agent.tools.approval import Gate
from tidings.agent.tools.rules import Rule
from tidings.core.reminder import Payload

TASK = "Rename parse() to parse_line() everywhere."
SOURCE = "def parse(text):\n    return text.split()\n" + "# more of the same\n" * 3_000


class Worker:
    """The scripted agent: says what it sees, then does its next step."""

    def __init__(self, console: Console, session: td.Session) -> None:
        self._console = console
        self._session = session
        self.model = ScriptedModel([self._step(n) for n in range(4)])

    def _step(self, number: int) -> Callable[[Payload], ToolCall | str]:
        return lambda body: self._say(number, body)

    def _say(self, number: int, body: Payload) -> ToolCall | str:
        self._console.print(Text(f"  request {number + 1}", style="bold"), end="  ")
        heard = reminders_in(body)
        self._console.print(Text("; ".join(heard) or "no reminders", style="cyan" if heard else "dim"))
        if number == 1:
            self._arrives()
        steps = (
            call("read_file", path="src/parse.py"),
            call("edit_file", path="src/parse.py", old="def parse(", new="def parse_line("),
            call("search", pattern="parse", path="src"),
            "Renamed, and the new test was taken into account.",
        )
        said = steps[number]
        shown = (
            f"{said.name}({next(iter(said.arguments.values()), '')})"
            if isinstance(said, ToolCall)
            else said
        )
        self._console.print(Text(f"            → {shown}", style="green"))
        return said

    def _arrives(self) -> None:
        self._console.print(Text("            (from outside: the tests were run elsewhere)", style="dim"))
        self._session.remind(
            body="tests/test_parse.py now passes.", dedupe_key="tests", ttl_turns=1, origin="test-watcher"
        )


def reminders_in(body: Payload) -> list[str]:
    """The first line of each reminder that a rendered Chat Completions body shows."""
    messages = body.get("messages")
    texts = (
        [str(m.get("content")) for m in messages if isinstance(m, dict)]
        if isinstance(messages, list)
        else []
    )
    parts = [part for text in texts for part in text.split("System reminder:\n")[1:]]
    return [part.split("\n")[0].split(". ")[0] for part in parts]


def play_agent(console: Console) -> None:
    """Play the act."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        (root / "src").mkdir()
        (root / "src" / "parse.py").write_text(SOURCE)
        session = td.Session("agent-demo", agent_id="coder")
        worker = Worker(console, session)
        result = asyncio.run(
            td.agent_loop(
                TASK,
                "You are a careful coding agent.",
                model=worker.model,
                tools=td.workspace_tools(root),
                session=session,
                registry=_registry(),
                approval=Gate([Rule(action="allow")]),
                workspace=root,
            )
        )
    console.print(Text(f"  {result.status} after {result.iterations} iterations: {result.text}"))


def _registry() -> td.Registry:
    registry = td.Registry()

    def edited(event: object) -> Payload:
        path = getattr(event, "path", "a file")
        return {"body": f"You edited {path}; run its tests before you finish.", "ttl_turns": 1}

    registry.register_session_hook("file_edited", edited)
    return registry
