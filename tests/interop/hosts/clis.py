"""The agents that `tidings connect` knows, and the SDK's: how each runs on the fake model, offline. Data.

Each has its own settings inside the room's HOME, without hooks; those are what a test, or the recorder,
adds in the folder of the project. The tool calls to script are here too, since every agent names its
tools in its own way.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from itertools import takewhile
from pathlib import Path

import msgspec
from msgspec.structs import replace

from tests.interop.agents import AGENTS, Room, aside, node
from tests.interop.install import ROOT, installed
from tests.interop.spoken import ENTRIES
from tidings.agent.port import Usage
from tidings.testing.fake_provider import Call, FakeProvider, Received, Say

TASK = "Child, do your part."
"""How the prompt of every scripted sub-agent begins."""

SUMMARY_MARKS = (
    "Respond with TEXT ONLY",
    "CONTEXT CHECKPOINT COMPACTION",
    "<state_snapshot>",
    "context summarization agent",
)
"""Words that stand only in a request for a summary, one for each agent."""

BEFORE, AFTER = "hello\n", "hello there\n"
ADDED = "*** Begin Patch\n*** Add File: {name}\n+hello\n*** End Patch\n"
UPDATED = "*** Begin Patch\n*** Update File: {name}\n@@\n-hello\n+hello there\n*** End Patch\n"
"""Patches that make such a file, and change it."""

SUMMARY = Say(text="<summary>What was said before.</summary>")

TRUSTED = """\
[projects."{work}"]
trust_level = "trusted"
"""
SMALL_WINDOW = "model_auto_compact_token_limit = 20000\n"


class Cli(msgspec.Struct, frozen=True, kw_only=True):
    """A command line agent: its package, its wire, how it is set up and run, and its tools."""

    package: str
    wire: str
    host: str
    """What `tidings connect` and the hub call it."""
    settle: Callable[[Room, FakeProvider], Mapping[str, str]]
    """Writes its settings into the room; gives what its environment needs."""
    command: Callable[[str], list[str]]
    """What runs it with one prompt, to its end."""
    again: Callable[[str], list[str]]
    """What goes on with the last session."""
    shell: Callable[[str], Call]
    """The call of the tool that runs a command."""
    delegate: Callable[[str], Call]
    """The call of the tool that starts a sub-agent."""
    edits: Callable[[Path], tuple[Call, ...]]
    """The calls that make a file with `BEFORE` in it and change that to `AFTER`, one in each answer."""
    patch: Callable[[str], Call] | None = None
    """The call of the tool that applies a patch, where models that know it are given one."""
    patching: tuple[str, ...] = ()
    """The arguments that choose such a model."""
    last_words: Callable[[str], Say] = lambda text: Say(text=text)
    """How a sub-agent ends."""
    full: Usage
    """The usage at which it compacts."""
    after_tools: str
    """Whose entry holds news after tool calls."""
    appends: bool = True
    """Whether news stay where they were shown."""
    cannot: Mapping[str, str] = msgspec.field(default_factory=dict)
    """What it cannot do, or not here, and why: tests of it are skipped with the reason."""


def binary(package: str, name: str) -> str:
    """The path of a package's command."""
    return str(installed()[package].folder / "node_modules" / ".bin" / name)


def _claude(room: Room, provider: FakeProvider) -> Mapping[str, str]:
    return AGENTS["claude-agent-acp"].start(room, provider)[1]


def _run_claude(prompt: str) -> list[str]:
    flags = ["--model", "claude-opus-5-5", "--permission-mode", "bypassPermissions"]
    return [binary("@anthropic-ai/claude-code", "claude"), "-p", prompt, *flags]


def _agent_sdk(room: Room, provider: FakeProvider) -> Mapping[str, str]:
    path = os.pathsep.join((str(installed()["claude-agent-sdk"].folder), str(ROOT / "src")))
    return {**_claude(room, provider), "ANTHROPIC_MODEL": "claude-opus-5-5", "PYTHONPATH": path}


def _run_agent_sdk(prompt: str) -> list[str]:
    return [sys.executable, str(ROOT / "examples" / "interop" / "claude_agent.py"), prompt]


def _codex(room: Room, provider: FakeProvider) -> Mapping[str, str]:
    environ = AGENTS["codex-acp"].start(room, provider)[1]
    config = Path(environ["CODEX_HOME"], "config.toml")
    config.write_text(SMALL_WINDOW + config.read_text() + TRUSTED.format(work=room.work))
    return environ


def _run_codex(*words: str) -> list[str]:
    flags = ["--dangerously-bypass-hook-trust", "--skip-git-repo-check", "--json"]
    return [binary("@openai/codex", "codex"), "exec", *flags, *words]


def _gemini(room: Room, provider: FakeProvider) -> Mapping[str, str]:
    return AGENTS["gemini-cli"].start(room, provider)[1]


def _run_gemini(prompt: str) -> list[str]:
    script = str(installed()["@google/gemini-cli"].path / "bundle" / "gemini.js")
    flags = ["--approval-mode", "yolo", "-m", "gemini-2.5-flash", "--output-format", "json"]
    return [str(node()), script, "-p", prompt, *flags]


def _opencode(room: Room, provider: FakeProvider) -> Mapping[str, str]:
    environ = AGENTS["opencode"].start(room, provider)[1]
    for folder in (room.home / ".config" / "opencode", room.work / ".opencode"):
        _as_after_a_start_with_network(folder)
    return environ


def _as_after_a_start_with_network(folder: Path) -> None:
    """With plugins, opencode waits until npm put its plugin package here; it looks only at these two."""
    (folder / "node_modules").mkdir(parents=True)
    root = {"dependencies": {"@opencode-ai/plugin": installed()["opencode-ai"].version}}
    lock = {"lockfileVersion": 3, "packages": {"": root}}
    (folder / "package-lock.json").write_bytes(msgspec.json.encode(lock))


def _run_opencode(prompt: str) -> list[str]:
    return [binary("opencode-ai", "opencode"), "run", "--format", "json", prompt]


def patches(path: Path) -> tuple[str, ...]:
    """The patches that make a file of this name, and change it."""
    return tuple(each.format(name=path.name) for each in (ADDED, UPDATED))


def _tools_of(
    write: str, edit: str, path: str, *words: str, **more: str
) -> Callable[[Path], tuple[Call, ...]]:
    """Calls of a tool that writes a whole file, and of one that changes some words of it."""
    content, old, new = words

    def calls(file: Path) -> tuple[Call, ...]:
        where = {path: str(file)}
        return (
            Call(write, {**where, content: BEFORE}, id="write"),
            Call(edit, {**where, old: BEFORE, new: AFTER, **more}, id="edit"),
        )

    return calls


def _patched_by_shell(file: Path) -> tuple[Call, ...]:
    command = "apply_patch <<'EOF'\n{patch}EOF\n"
    return tuple(Call("exec_command", {"cmd": command.format(patch=each)}) for each in patches(file))


CLAUDE_CODE = Cli(
    host="claude-code",
    package="@anthropic-ai/claude-code",
    wire="anthropic",
    settle=_claude,
    command=_run_claude,
    again=lambda prompt: [*_run_claude(prompt), "--continue"],
    shell=lambda command: Call("Bash", {"command": command, "description": "a command"}),
    delegate=lambda prompt: Call(
        "Agent", {"description": "a part", "prompt": prompt, "subagent_type": "general-purpose"}
    ),
    edits=_tools_of("Write", "Edit", "file_path", "content", "old_string", "new_string"),
    full=Usage(995_000, 5, 0),
    after_tools="system",
    cannot={"patch": "it has no tool for patches"},
)

CLIS: dict[str, Cli] = {
    "claude-code": CLAUDE_CODE,
    "claude-agent-sdk": replace(
        CLAUDE_CODE,
        package="claude-agent-sdk",
        settle=_agent_sdk,
        command=_run_agent_sdk,
        cannot={
            **CLAUDE_CODE.cannot,
            "connect": "a program joins with two lines of its own",
            "resume": "the program begins a session of its own each time",
            "wake": "a callback is heard only while its program works",
        },
    ),
    "codex": Cli(
        host="codex",
        package="@openai/codex",
        wire="openai_responses",
        settle=_codex,
        command=_run_codex,
        again=lambda prompt: _run_codex("resume", "--last", prompt),
        shell=lambda command: Call("exec_command", {"cmd": command}),
        delegate=lambda prompt: Call("spawn_agent", {"message": prompt}, namespace="multi_agent_v1"),
        edits=_patched_by_shell,
        patch=lambda patch: Call("apply_patch", patch, freeform=True),
        patching=("--model", "gpt-5.5"),
        full=Usage(50_000, 5, 0),
        after_tools="developer",
        cannot={"tell of its writes": "after a patch by its shell tool it tells no hook"},
    ),
    "gemini": Cli(
        host="gemini",
        package="@google/gemini-cli",
        wire="gemini",
        settle=_gemini,
        command=_run_gemini,
        again=lambda prompt: [*_run_gemini(prompt), "--resume", "latest"],
        shell=lambda command: Call(
            "run_shell_command", {"command": command, "description": "a command"}, id=f"run {command}"
        ),
        delegate=lambda prompt: Call(
            "invoke_agent", {"agent_name": "generalist", "prompt": prompt}, id="delegate"
        ),
        edits=_tools_of(
            "write_file",
            "replace",
            "file_path",
            "content",
            "old_string",
            "new_string",
            instruction="Greet.",
        ),
        last_words=lambda text: Say(
            calls=(Call("complete_task", {"result": {"response": text}}, id="complete"),)
        ),
        full=Usage(900_000, 5, 0),
        after_tools="user",
        appends=False,
        cannot={
            "patch": "it has no tool for patches",
            "prove": "it keeps no file that shows what the model read",
            "compact": "its hooks are not told of one; news are shown anew with every request",
            "resume": "what was told is not in its transcript",
            "wake": "it has no way in from outside",
        },
    ),
    "opencode": Cli(
        host="opencode",
        package="opencode-ai",
        wire="openai_chat",
        settle=_opencode,
        command=_run_opencode,
        again=lambda prompt: [*_run_opencode(prompt), "--continue"],
        shell=lambda command: Call("bash", {"command": command, "description": "a command"}),
        delegate=lambda prompt: Call(
            "task", {"description": "a part", "prompt": prompt, "subagent_type": "general"}
        ),
        edits=_tools_of("write", "edit", "filePath", "content", "oldString", "newString"),
        patch=lambda patch: Call("apply_patch", {"patchText": patch}),
        patching=("--model", "fake/gpt-5.5"),
        full=Usage(99_000, 5, 0),
        after_tools="tool",
        cannot={
            "continue": "`opencode run` leaves when the model has ended, and drops later prompts",
            "prove": "it keeps no file that shows what the model read",
        },
    ),
}


class Side:
    """Answers what is asked beside the main conversation: sub-agents, summaries and titles.

    A sub-agent is known by its task; its requests are answered with `steps`, in order.
    """

    def __init__(self, *steps: Say) -> None:
        self.children: list[Received] = []
        self.summaries: list[Received] = []
        self.steps = list(steps)

    def __call__(self, request: Received) -> Say | None:
        """The answer, or None for the main conversation."""
        text = str(first_words(request))
        if TASK in text:
            self.children.append(request)
            return self.steps.pop(0) if self.steps else Say(text="Nothing more.")
        if summarises(request):
            self.summaries.append(request)
            return SUMMARY
        return aside(request)


def first_words(request: Received) -> list[object]:
    """The entries before the model's first answer."""
    entries = request.body[ENTRIES[request.wire]]
    assert isinstance(entries, list)
    return list(takewhile(lambda each: each.get("role") in ("system", "developer", "user"), entries))


def summarises(request: Received) -> bool:
    """Whether it asks for a summary, as compaction does."""
    body = str(request.body)
    return any(mark in body for mark in SUMMARY_MARKS)
