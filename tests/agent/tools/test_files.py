"""Reading, writing and editing in a real folder that no path leaves."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tests.agent.tools.calling import Desk
from tidings.agent.port import Outcome
from tidings.agent.tools import folder
from tidings.agent.tools.folder import Folder
from tidings.agent.tools.tool import ToolContext, ToolError
from tidings.agent.tools.workspace import workspace_tools
from tidings.agent.tools.writing import Writing
from tidings.errors import CallerError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with a file, beside a folder that holds a secret."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text("secret\n")
    root = tmp_path / "w"
    root.mkdir()
    (root / "a.txt").write_text("one\ntwo\nthree\n")
    return root


def refused(outcome: Outcome, words: str) -> bool:
    return not outcome.ok and words in outcome.text


def test_the_set_has_six_tools_of_which_three_only_read(root: Path) -> None:
    assert [(tool.name, tool.read_only) for tool in workspace_tools(root)] == [
        ("read_file", True),
        ("write_file", False),
        ("edit_file", False),
        ("search", True),
        ("list_files", True),
        ("run_command", False),
    ]
    assert all(tool.spec.description for tool in workspace_tools(root))


def test_a_root_that_is_no_folder_is_refused(root: Path) -> None:
    with pytest.raises(CallerError, match=r"workspace root '.*a.txt' is not a folder"):
        workspace_tools(root / "a.txt")


def test_a_file_is_read_as_numbered_lines(root: Path) -> None:
    assert Desk(root)("read_file", path="a.txt") == Outcome(
        text="     1\tone\n     2\ttwo\n     3\tthree",
        data={"path": "a.txt", "start": 1, "lines": 3, "total_lines": 3},
    )


def test_a_range_that_was_asked_for_is_not_truncated(root: Path) -> None:
    assert Desk(root)("read_file", path="a.txt", start=2, limit=1) == Outcome(
        text="     2\ttwo\n[lines 2 to 2 of 3; go on with start=3]",
        data={"path": "a.txt", "start": 2, "lines": 1, "total_lines": 3},
    )


def test_a_file_longer_than_the_default_is_flagged_with_its_size(root: Path) -> None:
    (root / "long.txt").write_text("x\n" * 2001)
    given = Desk(root)("read_file", path="long.txt")
    assert given.text.endswith("  2000\tx\n[lines 1 to 2000 of 2001; go on with start=2001]")
    assert (given.truncated, given.original_size) == (True, 4002)


def test_lines_stop_where_the_output_is_full_and_say_where_to_go_on(root: Path) -> None:
    (root / "wide.txt").write_text(("y" * 90 + "\n") * 100)
    given = Desk(root, max_output=1000)("read_file", path="wide.txt", limit=50)
    assert given.text.endswith("\n[lines 1 to 8 of 100; go on with start=9]")
    assert (given.truncated, given.original_size) == (True, 9100)
    assert "left out here" not in given.text


def test_a_very_long_line_is_cut_and_flagged(root: Path) -> None:
    (root / "min.js").write_text("z" * 5000)
    given = Desk(root)("read_file", path="min.js")
    assert given.text.endswith("z [… 3000 more characters in this line]")
    assert (given.truncated, given.original_size) == (True, 5000)


def test_an_empty_file_says_that_it_is_empty(root: Path) -> None:
    (root / "empty").touch()
    assert Desk(root)("read_file", path="empty").text == "[the file is empty]"


def test_text_that_is_not_utf8_is_shown_and_said_to_be_so(root: Path) -> None:
    (root / "latin").write_bytes("caf\xe9\r\nend".encode("latin-1"))
    assert Desk(root)("read_file", path="latin").text == (
        "     1\tcaf\ufffd\n     2\tend\n[not valid UTF-8: the bytes that are not text are shown as \ufffd]"
    )


def test_what_cannot_be_read_says_why(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk(root)
    (root / "bin").write_bytes(b"\x7fELF\0\0")
    os.mkfifo(root / "pipe")
    (root / "shut").write_text("x")
    assert refused(desk("read_file", path="bin"), "'bin' is a binary file of 6 bytes")
    assert refused(desk("read_file", path="pipe"), "'pipe' is not a regular file")
    assert refused(desk("read_file", path="."), "'.' is not a regular file")
    assert refused(desk("read_file", path="none"), "there is no file 'none'; list_files")
    assert refused(
        desk("read_file", path="a.txt", start=9), "'a.txt' has 3 lines; start=9 is beyond its end"
    )
    assert refused(desk("read_file", path="a.txt", start=0), "argument 'start' is 0")
    monkeypatch.setattr(folder, "MAX_FILE", 3)
    assert refused(desk("read_file", path="a.txt"), "'a.txt' has 14 bytes, more than 3")


HOSTILE = [
    "../outside/secret.txt",
    "sub/../../outside/secret.txt",
    "link/secret.txt",
    "linked.txt",
    "chain/secret.txt",
    "/etc/passwd",
    "~/../../../../etc/passwd/../../etc/passwd",
    "..",
    "loop",
    "nul\0byte",
    "x" * 5000,
]


@pytest.mark.parametrize("path", HOSTILE)
@pytest.mark.parametrize("name", ["read_file", "write_file", "edit_file", "search", "list_files"])
def test_no_path_leaves_the_folder(root: Path, name: str, path: str) -> None:
    (root / "link").symlink_to(root.parent / "outside")
    (root / "linked.txt").symlink_to("../outside/secret.txt")
    (root / "chain").symlink_to("link")
    (root / "loop").symlink_to("loop")
    arguments = {
        "write_file": {"content": "x"},
        "edit_file": {"old": "secret", "new": "x"},
        "search": {"pattern": "secret"},
    }.get(name, {})
    given = Desk(root)(name, path=path, **arguments)
    assert not given.ok
    assert "secret\n" not in given.text
    assert (root.parent / "outside" / "secret.txt").read_text() == "secret\n"
    assert sorted(os.listdir(root.parent)) == ["outside", "w"]


def test_absolute_paths_and_links_inside_the_folder_are_fine(root: Path) -> None:
    (root / "same").symlink_to("a.txt")
    desk = Desk(root)
    assert desk("read_file", path=str(root / "a.txt")).ok
    assert desk("edit_file", path="same", old="two", new="2").ok
    assert ((root / "same").is_symlink(), (root / "a.txt").read_text()) == (True, "one\n2\nthree\n")


def test_a_link_to_the_root_itself_is_resolved_once(root: Path) -> None:
    alias = root.parent / "alias"
    alias.symlink_to(root)
    assert Desk(alias)("read_file", path=str(alias / "a.txt")).ok


def test_writing_creates_folders_and_tells_the_loop(root: Path) -> None:
    desk = Desk(root)
    assert desk("write_file", path="new/./deep/b.txt", content="é\n") == Outcome(
        text="Created new/./deep/b.txt (3 bytes)."
    )
    assert (root / "new/deep/b.txt").read_bytes() == "é\n".encode()
    assert ("file_edited", {"path": "new/deep/b.txt", "tool_call_id": "c1"}) in desk.events
    assert desk("write_file", path="a.txt", content="") == Outcome(text="Replaced a.txt (0 bytes).")


def test_a_file_keeps_its_permissions_and_a_new_one_gets_the_usual_ones(root: Path) -> None:
    script = root / "run.sh"
    script.write_text("old")
    script.chmod(0o751)
    desk = Desk(root)
    desk("write_file", path="run.sh", content="new")
    desk("write_file", path="plain", content="new")
    (root / "usual").touch()
    assert stat.S_IMODE(script.stat().st_mode) == 0o751
    assert (root / "plain").stat().st_mode == (root / "usual").stat().st_mode


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    desk = Desk(root)
    given = desk("write_file", path="a.txt", content="new")
    assert given == Outcome(text="'a.txt' cannot be written: No space left on device", ok=False)
    assert {path.name: path.read_text() for path in root.iterdir()} == {"a.txt": "one\ntwo\nthree\n"}
    assert "file_edited" not in [event for event, _ in desk.events]


def test_a_call_that_was_cancelled_writes_nothing(root: Path) -> None:
    context = ToolContext()
    context.cancel.set()
    with pytest.raises(ToolError, match=r"cancelled before 'a\.txt' was written"):
        Writing(Folder(root)).write_file("a.txt", "new", context)
    assert (root / "a.txt").read_text() == "one\ntwo\nthree\n"


def test_what_cannot_be_written_says_why(root: Path) -> None:
    desk = Desk(root)
    assert refused(desk("write_file", path=".", content="x"), "'.' is a folder")
    assert refused(desk("write_file", path="a.txt/b", content="x"), "'a.txt/b' cannot be written")
    assert refused(
        desk("write_file", path="b", content="\ud800"), "content has half a character at position 0"
    )


def test_an_edit_replaces_the_one_place_it_names(root: Path) -> None:
    desk = Desk(root)
    assert desk("edit_file", path="a.txt", old="two\nth", new="2\nTh") == Outcome(
        text="Replaced 1 occurrence in a.txt."
    )
    assert (root / "a.txt").read_text() == "one\n2\nThree\n"
    assert ("file_edited", {"path": "a.txt", "tool_call_id": "c1"}) in desk.events


def test_an_edit_of_all_places_says_how_many(root: Path) -> None:
    (root / "many").write_text("a b a b a")
    assert Desk(root)("edit_file", path="many", old="a", new="aa", all=True) == Outcome(
        text="Replaced 3 occurrences in many."
    )
    assert (root / "many").read_text() == "aa b aa b aa"


def test_an_edit_that_does_not_fit_changes_nothing_and_says_why(root: Path) -> None:
    (root / "many").write_text("a\n" * 7)
    desk = Desk(root)
    assert [
        desk("edit_file", path="many", old="a", new="b").text,
        desk("edit_file", path="many", old="zzz", new="b").text,
        desk("edit_file", path="many", old="a   a", new="b").text,
        desk("edit_file", path="many", old="", new="b").text,
        desk("edit_file", path="many", old="a", new="a").text,
        desk("edit_file", path="none", old="a", new="b").text,
    ] == [
        "old occurs 7 times in 'many' (lines 1, 2, 3, 4, 5, …); "
        "add the lines around it, or set all to true",
        "old does not occur in 'many'; read the file again and copy the text exactly",
        "old does not occur in 'many' with exactly this whitespace; copy it from read_file",
        "old is empty; nothing to replace",
        "old is the same as new; nothing to replace",
        "there is no file 'none'; list_files shows what there is",
    ]
    assert (root / "many").read_text() == "a\n" * 7
    assert "file_edited" not in [event for event, _ in desk.events]


def test_an_edit_keeps_the_bytes_around_it_whatever_they_are(root: Path) -> None:
    (root / "latin").write_bytes(b"caf\xe9 = 1\r\nb = 2\r\nc = 3\n")
    assert Desk(root)("edit_file", path="latin", old="1\nb", new="4\n\nb").ok
    assert (root / "latin").read_bytes() == b"caf\xe9 = 4\r\n\r\nb = 2\r\nc = 3\n"
