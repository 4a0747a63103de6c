"""A first `tidings.toml` for a project: what was found there, switched on; the rest as comments.

`look` reads the project's files; `written` makes the text of what it found, which the reader of such files
takes. `tidings init` calls both.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from configparser import ConfigParser, Error
from pathlib import Path

import msgspec
from msgspec.structs import replace

from tidings.watchers.runners import Runner, runners_in

CHECKS: dict[str, tuple[str, str, str]] = {
    "Cargo.toml": ("check", "cargo check", "*.rs"),
    "go.mod": ("vet", "go vet ./...", "*.go"),
    "tsconfig.json": ("types", "npx --no-install tsc --noEmit", "*.ts"),
    "mypy.ini": ("types", "mypy .", "*.py"),
}
"""A file that a project may have: the name of a check, its command, and which files it is about."""

_REMOTE = re.compile(r"(?P<host>github|gitlab)[^/:]*[/:](?P<name>[^/]+/[^/]+?)(?:\.git)?/?$")


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What a project has: test runners, checks that fit, and where its reviews happen."""

    runners: Mapping[str, Runner] = {}
    checks: tuple[tuple[str, str, str], ...] = ()
    git: bool = False
    forge: tuple[str, str] | None = None


def look(folder: Path) -> Found:
    """What the project in `folder` has."""
    config = folder / ".git" / "config"
    checks = {check[0]: check for name, check in CHECKS.items() if (folder / name).is_file()}
    return Found(
        runners={name: _portable(one, folder) for name, one in runners_in(folder).items()},
        checks=tuple(checks.values()),
        git=(folder / ".git").exists(),
        forge=_forge(config) if config.is_file() else None,
    )


def _portable(runner: Runner, folder: Path) -> Runner:
    """The same runner, without the path of this folder: commands are started in it."""
    return replace(runner, argv=tuple(word.removeprefix(f"{folder}/") for word in runner.argv))


def _forge(config: Path) -> tuple[str, str] | None:
    """The service and the name of the repository that `origin` leads to, if it sends webhooks."""
    parser = ConfigParser(strict=False, interpolation=None)
    try:
        parser.read_string(config.read_text(errors="replace"))
    except Error:
        return None
    url = parser.get('remote "origin"', "url", fallback="")
    found = _REMOTE.search(url)
    return (found["host"], found["name"]) if found else None


def written(found: Found) -> str:
    """The text of a `tidings.toml`."""
    parts = [_HEAD, _FILES, *_tests(found.runners), *_checks(found.checks), *_reviews(found), _REST]
    return "\n".join(parts)


_HEAD = """\
# What the Tidings hub watches in this folder, and tells the agents that work here.
# `tidings up` uses it; after a change that runs or grants something new, run it again.
# The page "Config" of the documentation has every key. Secrets stand in environment variables, never here.
"""

_FILES = """\
# Files that change outside the agent's conversation. What .gitignore names is left out.
[watch.files]
# only = ["*.py", "!migrations/"]   # globs as in .gitignore; ! leaves out
"""

_REST = """\
# An MCP server whose news reaches the sessions here, quoted with its name.
# [servers.ci]
# url = "https://ci.example/mcp"        # or: command = ["npx", "ci-server"]
# headers = { Authorization = "Bearer ${CI_TOKEN}" }
# grants = ["preserve_on_compact"]

# How much one watcher may say; what goes beyond is dropped and recorded.
# [budget]
# per_minute = 60

# What a watcher's news may do besides waiting for the next step.
# [grants]
# tests = ["interrupt_immediate", "wake_idle"]

# Whom the news is for: everybody in this folder, unless tags are named.
# [sessions]
# tags = ["release"]
# deliver_within = 120                  # seconds
"""


def _tests(runners: Mapping[str, Runner]) -> list[str]:
    lines = ["# Tests that turn red or green: run now and at each change."]
    commands = [f"command = {json.dumps(runner.argv)}" for runner in runners.values()]
    if not commands:
        return [*lines, "# [watch.tests]", '# command = "pytest -q"', ""]
    if len(commands) == 1:
        lines += [f"# {next(iter(runners))} was found; it is run unless another command is named."]
        commands = [f"# {commands[0]}"]
    first, *others = commands
    lines += ["[watch.tests]", first, *(f"# {other}" for other in others)]
    return [*lines, '# only = ["src/", "tests/"]', ""]


def _checks(checks: Sequence[tuple[str, str, str]]) -> list[str]:
    lines = ["# A command that is told when it begins to fail or to pass."]
    for name, command, only in checks or (("types", "mypy .", "*.py"),):
        lines += [f"# [watch.commands.{name}]", f"# command = {json.dumps(command)}"]
        lines += [f"# only = {json.dumps([only])}", ""]
    return lines


def _reviews(found: Found) -> list[str]:
    if not found.git:
        return []
    host, name = found.forge or ("github", "owner/name")
    variable = "GITLAB_TOKEN" if host == "gitlab" else "GITHUB_WEBHOOK_SECRET"
    return [
        "# Reviews and CI results, by signed webhooks to 127.0.0.1 (put a tunnel with TLS in front).",
        "# [watch.reviews]",
        f"# scheme = {json.dumps(host)}",
        f"# secret_env = {json.dumps([variable])}   # the variable that holds the secret",
        f"# repositories = {json.dumps([name])}",
        "",
    ]
