"""The agent's own writes are recognised, and nothing else is."""

from __future__ import annotations

import asyncio
from hashlib import sha256
from pathlib import Path

import pytest

from tidings.agent.port import ToolCall
from tidings.agent.tools.approval import Gate
from tidings.agent.tools.dispatch import Dispatcher
from tidings.agent.tools.rules import Rule
from tidings.agent.tools.tool import ToolContext
from tidings.agent.tools.workspace import workspace_tools
from tidings.errors import CallerError
from tidings.watchers import own as own_module
from tidings.watchers.own import OwnWrites


def is_own(own: OwnWrites, path: Path) -> bool:
    return own.wrote(path, path.stat())


def test_a_noted_file_is_own_until_someone_else_changes_it(tmp_path: Path) -> None:
    own, file = OwnWrites(tmp_path), tmp_path / "a.py"
    file.write_text("one")
    assert not is_own(own, file)
    assert own.note("a.py")
    assert is_own(own, file)
    file.write_text("other")
    assert not is_own(own, file)


def test_an_announced_hash_makes_exactly_that_content_own(tmp_path: Path) -> None:
    own, file = OwnWrites(tmp_path), tmp_path / "a.py"
    own.note("a.py", f"sha256:{sha256(b'mine').hexdigest().upper()}")
    file.write_text("theirs")
    theirs = is_own(own, file)
    file.write_text("mine")
    assert (theirs, is_own(own, file)) == (False, True)


def test_a_file_known_by_its_hash_is_not_read_again_while_it_stays_as_it_is(
    tmp_path: Path,
) -> None:
    own, file = OwnWrites(tmp_path), tmp_path / "a.py"
    file.write_text("mine")
    own.note("a.py", sha256(b"mine").hexdigest())
    assert is_own(own, file)
    found = file.stat()
    file.unlink()
    assert own.wrote(file, found)


def test_a_missing_file_is_not_known_and_a_wrong_hash_is_refused(tmp_path: Path) -> None:
    own = OwnWrites(tmp_path)
    assert not own.note("gone.py")
    with pytest.raises(CallerError, match="`sha256` must be 64 hexadecimal digits; got 'abc'"):
        own.note("a.py", "abc")


def test_a_file_that_the_agent_removed_is_its_own_doing_until_it_is_back(tmp_path: Path) -> None:
    own, file = OwnWrites(tmp_path), tmp_path / "a.py"
    assert not own.removed(file)
    file.write_text("x")
    own.note("a.py")
    file.unlink()
    assert not own.removed(file)
    own.note("a.py")
    assert own.removed(file)
    file.write_text("theirs")
    assert not is_own(own, file)
    file.unlink()
    assert not own.removed(file)


def test_what_is_remembered_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_module, "MOST", 2)
    own = OwnWrites(tmp_path)
    files = [tmp_path / name for name in "abc"]
    for file in files:
        file.write_text(file.name)
        own.note(file.name)
    assert [is_own(own, file) for file in files] == [False, True, True]


def test_the_loops_own_file_tools_are_heard_at_once_and_still_tell_the_loop(tmp_path: Path) -> None:
    own, heard = OwnWrites(tmp_path), []
    tools = own.heard(workspace_tools(tmp_path))
    gate = Gate([Rule("allow")])

    async def write() -> bool:
        call = ToolCall("c1", "write_file", {"path": "a.py", "content": "x"})
        context = ToolContext(emit=lambda event, payload: heard.append((event, dict(payload))))
        async with asyncio.timeout(30):
            (receipt,) = await Dispatcher(tools, approval=gate).dispatch([call], context)
        return receipt.outcome.ok

    assert asyncio.run(write())
    assert is_own(own, tmp_path / "a.py")
    assert ("file_edited", {"path": "a.py", "tool_call_id": "c1"}) in heard
