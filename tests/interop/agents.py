"""The real agents: how each is started on our fake provider, without an account or a network. Data.

Each gets a HOME and XDG folders of its own, inside the test's folder. `aside` recognises what these agents
ask beside their work (titles), so that the script of a test is only used up by its turns.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from tests.interop.install import installed
from tidings.testing.fake_provider import FakeProvider, Received, Say

QUIET = {
    "NO_COLOR": "1",
    "LANG": "C.UTF-8",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION": "false",
    "IS_SANDBOX": "1",
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "OPENCODE_DISABLE_MODELS_FETCH": "1",
}
NOWHERE = "http://127.0.0.1:9"
OFFLINE = {
    **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"), NOWHERE),
    **dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1,localhost"),
}
"""Whoever honours a proxy and asks outside this machine is sent to a port where nobody listens."""
XDG = {"CONFIG": ".config", "DATA": ".local/share", "STATE": ".local/state", "CACHE": ".cache"}

CODEX_CONFIG = """\
model = "fake-model"
model_provider = "fake"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.fake]
name = "fake"
base_url = "{url}"
wire_api = "responses"
env_key = "FAKE_KEY"
request_max_retries = 0
stream_max_retries = 0
"""

Start = Callable[["Room", FakeProvider], tuple[list[str], Mapping[str, str]]]


class Room(msgspec.Struct, frozen=True):
    """Where a test's processes live: nothing of theirs is outside of it."""

    folder: Path
    socket: str
    """Where programs reach the interposer; the name of a socket must be short."""

    @property
    def home(self) -> Path:
        """Their HOME."""
        return _made(self.folder / "home")

    @property
    def work(self) -> Path:
        """The folder they work in."""
        return _made(self.folder / "work")

    def environment(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        """Their whole environment; nothing of the caller's but the PATH."""
        paths = [str(node().parent), os.environ.get("PATH", os.defpath)]
        private = {f"XDG_{name}_HOME": str(self.home / where) for name, where in XDG.items()}
        home = {"HOME": str(self.home), "TMPDIR": str(_made(self.folder / "tmp"))}
        return {"PATH": os.pathsep.join(paths), **home, **private, **QUIET, **OFFLINE, **(more or {})}


class Agent(msgspec.Struct, frozen=True, kw_only=True):
    """A real agent: its package, the wire it asks its model on, and how it is started."""

    package: str
    wire: str
    start: Start
    shell: tuple[str, str]
    """The tool that runs a command, and the argument that holds it."""
    asks: bool
    """Whether it asks the editor before it runs one."""
    compacts: bool = False
    """Whether it shortens its history at `/compact`, and tells a client that asks for it."""
    steers: bool = False
    age: Callable[[Room], None] = lambda _: None
    """Makes the sessions of a room look older, where only older ones can be loaded."""


def node() -> Path:
    """The Node that every package runs on."""
    return installed()["node"].path / "bin" / "node"


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _script(package: str, file: str) -> list[str]:
    return [str(node()), str(installed()[package].path / file)]


def _claude(room: Room, provider: FakeProvider) -> tuple[list[str], Mapping[str, str]]:
    command = _script("@agentclientprotocol/claude-agent-acp", "dist/index.js")
    return command, {"ANTHROPIC_BASE_URL": provider.url, "ANTHROPIC_API_KEY": "x"}


def _codex(room: Room, provider: FakeProvider) -> tuple[list[str], Mapping[str, str]]:
    folder = _made(room.home / ".codex")
    (folder / "config.toml").write_text(CODEX_CONFIG.format(url=provider.openai_url))
    command = _script("@agentclientprotocol/codex-acp", "dist/index.js")
    return command, {"CODEX_HOME": str(folder), "FAKE_KEY": "x"}


def _gemini(room: Room, provider: FakeProvider) -> tuple[list[str], Mapping[str, str]]:
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
        "privacy": {"usageStatisticsEnabled": False},
    }
    (_made(room.home / ".gemini") / "settings.json").write_bytes(msgspec.json.encode(settings))
    command = [*_script("@google/gemini-cli", "bundle/gemini.js"), "--acp", "-m", "gemini-2.5-flash"]
    known = {"GEMINI_API_KEY": "x", "GEMINI_CLI_TRUST_WORKSPACE": "true"}
    return command, {**known, "GOOGLE_GEMINI_BASE_URL": provider.url}


def _older(room: Room) -> None:
    """Gemini CLI names a session's file after the minute, and a load in that minute overwrites it."""
    for chat in room.home.glob(".gemini/tmp/*/chats/session-*"):
        chat.rename(chat.with_name(chat.name.replace("session-20", "session-19", 1)))


def _opencode(room: Room, provider: FakeProvider) -> tuple[list[str], Mapping[str, str]]:
    model = {"tool_call": True, "limit": {"context": 100_000, "output": 8_000}}
    fake = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": provider.openai_url, "apiKey": "x"},
        "models": {"fake-model": model, "gpt-5.5": model},
    }
    chosen = {"model": "fake/fake-model", "small_model": "fake/fake-model", "provider": {"fake": fake}}
    settings = {**chosen, "permission": "allow", "autoupdate": False}
    folder = _made(room.home / ".config" / "opencode")
    (folder / "opencode.json").write_bytes(msgspec.json.encode(settings))
    return [str(installed()["opencode-ai"].folder / "node_modules" / ".bin" / "opencode"), "acp"], {}


def tidings(*arguments: str) -> list[str]:
    """Our own command."""
    return [str(Path(sys.executable).parent / "tidings"), *arguments]


def ours(room: Room, provider: FakeProvider) -> tuple[list[str], Mapping[str, str]]:
    """`tidings acp`, started like the real ones."""
    chosen = ("--model", "anthropic/claude-opus-5", "--base-url", provider.url)
    return tidings("acp", *chosen), {"ANTHROPIC_API_KEY": "x"}


AGENTS = {
    "claude-agent-acp": Agent(
        package="@agentclientprotocol/claude-agent-acp",
        wire="anthropic",
        start=_claude,
        shell=("Bash", "command"),
        asks=True,
        compacts=True,
        steers=True,
    ),
    "codex-acp": Agent(
        package="@agentclientprotocol/codex-acp",
        wire="openai_responses",
        start=_codex,
        shell=("exec_command", "cmd"),
        asks=False,
        compacts=True,
        steers=True,
    ),
    "gemini-cli": Agent(
        package="@google/gemini-cli",
        wire="gemini",
        start=_gemini,
        shell=("run_shell_command", "command"),
        asks=True,
        age=_older,
    ),
    "opencode": Agent(
        package="opencode-ai", wire="openai_chat", start=_opencode, shell=("bash", "command"), asks=False
    ),
}


def aside(request: Received) -> Say | None:
    """A title for a request that offers no tools: no agent works without them."""
    return None if request.body.get("tools") else Say(text='{"title": "A title"}')
