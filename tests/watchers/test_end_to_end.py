"""The watcher examples of seed 000: real watchers, the real loop, and the line in the next request.

In one process with the session, and as MCP servers of their own behind the host.
"""

from __future__ import annotations

import asyncio
import json
import stat
import sys
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import tidings as td
from tests.watchers.waiting import DEADLINE
from tidings.agent.models.scripted import call
from tidings.watchers import CommandWatcher, FileWatcher, OwnWrites, SuiteWatcher, watching

pytest.importorskip("mcp", reason="the MCP SDK is not installed: pip install 'tidings[mcp]'")

ALLOW = td.Gate([td.Rule("allow")])
BROKEN, SOUND = "fn main( {}\n", "fn main() {}\n"
CARGO = "#!/bin/sh\ngrep -q 'main()' src/lib.rs && exit 0\necho 'error: src/lib.rs is broken'\nexit 101\n"
"""Stands for cargo: what matters here is the watcher."""

TEST = "def test_answers():\n    assert {value} == 2\n"
PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib", "tests")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "tests").mkdir()
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "src/lib.rs").write_text(BROKEN)
    (tmp_path / "tests/api_test.py").write_text(TEST.format(value=1))
    cargo = tmp_path / "bin/cargo"
    cargo.parent.mkdir()
    cargo.write_text(CARGO)
    cargo.chmod(cargo.stat().st_mode | stat.S_IXUSR)
    return tmp_path


async def arrived(session: td.Session, words: str) -> None:
    """Until a reminder whose body holds these words is in the mailbox."""
    with session.listening() as news:
        async with asyncio.timeout(DEADLINE):
            while words not in json.dumps(session.pending_injections(), ensure_ascii=False):
                news.clear()
                await news.wait()


async def ask(session: td.Session, *steps: Any, **options: Any) -> list[str]:
    """Run the loop; gives the bodies of its requests as text."""
    model = td.ScriptedModel(list(steps))
    async with asyncio.timeout(DEADLINE):
        result = await td.agent_loop("Go on.", model=model, session=session, approval=ALLOW, **options)
    assert result.status == "done", result
    return [json.dumps(body, ensure_ascii=False) for body in model.requests]


def quoted(name: str, line: str, body: str) -> bool:
    """Whether a request quotes `line` as what `name` says, and gives it no system slot."""
    return name in body and f"> {line}" in body


def test_the_build_watcher_beside_the_session_tells_the_agent_of_its_own_edit(project: Path) -> None:
    own = OwnWrites(project)
    tools = own.heard(td.workspace_tools(project))

    async def play() -> tuple[list[str], list[str]]:
        session = td.Session()
        cargo = CommandWatcher((str(project / "bin/cargo"), "check"), project, own=own)
        async with watching(session, cargo, FileWatcher(project, own=own)):
            await arrived(session, "cargo check failed with exit code 101")
            edit = call("write_file", path="src/lib.rs", content=SOUND)
            first = await ask(session, edit, "Edited.", tools=tools)
            await arrived(session, "cargo check passed after your last edit.")
            return first, await ask(session, "It compiles.", tools=tools)

    first, second = asyncio.run(play())
    assert quoted("cargo-check", "- src/lib.rs is broken", first[0])
    assert quoted("cargo-check", "cargo check passed after your last edit.", second[0])
    assert "src/lib.rs changed externally" not in "".join((*first, *second))


def test_the_test_watcher_beside_the_session_tells_what_turned_green(project: Path) -> None:
    async def play() -> list[str]:
        session = td.Session()
        suite = SuiteWatcher((sys.executable, *PYTEST, "-o", "python_files=*_test.py"), project)
        async with watching(session, suite):
            await arrived(session, "tests/api_test.py: 1 test fails.")
            (project / "tests/api_test.py").write_text(TEST.format(value=2))
            await arrived(session, "tests/api_test.py now passes.")
            return await ask(session, "Good.")

    (body,) = asyncio.run(play())
    assert quoted("python-pytest", "tests/api_test.py now passes.", body)


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_build_and_test_watchers_as_mcp_servers_reach_the_next_request(project: Path, era: str) -> None:
    from tidings.mcp import Server, Servers

    def served(name: str, *words: str) -> Server:
        start = (sys.executable, "-c", "from tidings.cli.start import run; run()", "watch")
        return Server(name=name, command=(*start, *words), cwd=str(project), era=era)  # type: ignore[arg-type]

    config = [
        served("build", "command", "--own-writes", "--", str(project / "bin/cargo"), "check"),
        served("tests", "tests", "--", sys.executable, *PYTEST, "-o", "python_files=*_test.py"),
        served("files", "files", "--only", "*.rs"),
    ]

    async def play() -> tuple[list[str], list[str]]:
        session = td.Session()
        async with Servers(config, session=session) as servers:
            assert [(one.name, one.state) for one in servers.status()] == [
                (name, "connected") for name in ("build", "tests", "files")
            ]
            tools = await servers.tools()
            await arrived(session, "cargo check failed with exit code 101")
            await arrived(session, "tests/api_test.py: 1 test fails.")
            digest = sha256(SOUND.encode()).hexdigest()
            announce = call(
                "build__report_own_writes", writes=[{"path": str(project / "src/lib.rs"), "sha256": digest}]
            )
            write = call("write_file", path="src/lib.rs", content=SOUND)
            every = [*tools, *td.workspace_tools(project)]
            first = await ask(session, announce, write, "Edited.", tools=every)
            await arrived(session, "cargo check passed after your last edit.")
            await arrived(session, "src/lib.rs changed on disk; re-read it before editing.")
            (project / "tests/api_test.py").write_text(TEST.format(value=2))
            await arrived(session, "tests/api_test.py now passes.")
            return first, await ask(session, "Good.", tools=every)

    first, second = asyncio.run(play())
    assert quoted("build", "- src/lib.rs is broken", first[0])
    assert quoted("build", "cargo check passed after your last edit. It failed before.", second[0])
    assert quoted("tests", "tests/api_test.py now passes. (test_answers)", second[0])
    assert quoted("files", "src/lib.rs changed on disk; re-read it before editing.", second[0])


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_a_file_watcher_that_is_told_of_the_agents_writes_tells_only_of_others(
    project: Path, era: str
) -> None:
    from tidings.mcp import Server, Servers

    program = (sys.executable, "-c", "from tidings.cli.start import run; run()")
    start = (*program, "watch", "files", "--only", "*.rs")
    command = (*start, "--own-writes", "--root", str(project))
    told = Server(name="told", command=command, era=era, own_writes=True)  # type: ignore[arg-type]
    untold = Server(name="untold", command=start, cwd=str(project), era=era)  # type: ignore[arg-type]

    async def play() -> tuple[list[str], list[str], list[str]]:
        session = td.Session()
        async with Servers([told, untold], session=session) as servers:
            theirs = await servers.tools()
            await watching_files(project, session, "created externally", "created on disk")
            tools = [*theirs, *servers.heard(td.workspace_tools(project), project)]
            write = call("write_file", path="src/lib.rs", content=SOUND)
            edit = call("edit_file", path="src/lib.rs", old="main", new="start")
            first = await ask(session, [write, edit], "Edited.", tools=tools)
            await arrived(session, "src/lib.rs changed on disk")
            (project / "src/other.rs").write_text(SOUND)
            await arrived(session, "src/other.rs was created externally")
            (project / "src/lib.rs").write_text(BROKEN)
            await arrived(session, "src/lib.rs changed externally")
            return [tool.name for tool in theirs], first, await ask(session, "Good.", tools=tools)

    names, first, second = asyncio.run(play())
    assert names == []
    said = "".join((*first, *second))
    assert said.count("src/lib.rs changed externally") == 1
    assert "src/other.rs was created externally" in second[0]


async def watching_files(project: Path, session: td.Session, *words: str) -> None:
    """Until a reminder with each of these words has come: from then on the watchers miss nothing."""
    for number in range(DEADLINE):
        (project / f"begin{number}.rs").write_text("x")
        with suppress(TimeoutError):
            async with asyncio.timeout(1):
                for each in words:
                    await arrived(session, each)
                return
    raise AssertionError(words)
