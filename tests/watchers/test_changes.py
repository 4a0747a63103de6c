"""Raw events and what stands on disk become changes."""

from __future__ import annotations

from tidings.watchers.changes import Batch, FileChange, Known, Seen, classify, without
from tidings.watchers.matching import Patterns

KNOWN = {"a.py": 1, "b.py": 2, "src/c.py": 3}


def changed(*seen: Seen) -> list[FileChange]:
    return list(classify(KNOWN, seen))


def test_a_known_file_that_is_there_was_edited_whatever_its_stamp() -> None:
    assert changed(Seen("a.py", 1)) == [FileChange("edited", "a.py")]
    assert changed(Seen("a.py", 99)) == [FileChange("edited", "a.py")]


def test_an_unknown_file_was_created_and_a_missing_one_deleted() -> None:
    assert changed(Seen("n.py", 9), Seen("b.py", None)) == [
        FileChange("deleted", "b.py"),
        FileChange("created", "n.py"),
    ]


def test_a_missing_file_whose_stamp_stands_elsewhere_was_renamed() -> None:
    assert changed(Seen("b.py", None), Seen("src/b2.py", 2)) == [FileChange("renamed", "src/b2.py", "b.py")]


def test_a_file_that_came_and_went_is_not_mentioned() -> None:
    assert changed(Seen(".x.tmp", None)) == []


def test_what_the_agent_wrote_itself_is_marked() -> None:
    assert changed(Seen("a.py", 4, own=True)) == [FileChange("edited", "a.py", own=True)]


def test_a_link_with_the_same_stamp_is_no_rename_while_the_file_is_still_there() -> None:
    assert changed(Seen("link.py", 1)) == [FileChange("created", "link.py")]


def test_a_folder_that_is_gone_takes_the_files_below_it_along() -> None:
    known = Known(10)
    known.update([Seen("src/a/x.py", 1), Seen("src/b.py", 2), Seen("src2/c.py", 3)])
    assert sorted(known.below(["src"])) == ["src/a/x.py", "src/b.py"]
    assert known.below(["x.py"]) == []


def test_what_is_known_is_bounded_and_kept_up_to_date() -> None:
    known = Known(2)
    known.update([Seen("a", 1), Seen("b", 2), Seen("c", 3), Seen("a", 4)])
    assert known.files == {"a": 4, "b": 2}
    known.update([Seen("a", None), Seen("c", 3)])
    assert known.files == {"b": 2, "c": 3}


def test_when_not_all_files_are_known_an_unknown_one_is_not_called_new() -> None:
    assert classify(KNOWN, [Seen("n.py", 9)], full=True) == (FileChange("edited", "n.py"),)


def test_folders_in_which_nothing_is_left_are_forgotten() -> None:
    known = Known(10)
    for number in range(3_000):
        known.update([Seen(f"d{number}/a", 1), Seen(f"d{number}/a", None)])
    assert len(known.folders) <= 1_001


def test_a_folder_that_was_replaced_takes_those_inside_it_along() -> None:
    folders = {"", "a", "a/b", "a/b/c", "ab", "d"}
    assert without(folders, ["a", "x.py"]) == {"", "ab", "d"}
    assert without(folders, ["x.py"]) is folders


def matched(*globs: str) -> list[str]:
    patterns = Patterns(globs)
    paths = ("a.py", "src/b.py", "src/gen/c.py", "README.md", "docs/x.md")
    return [path for path in paths if patterns.match(path)]


def test_patterns_take_in_what_they_name_and_leave_out_what_they_deny() -> None:
    assert matched() == ["a.py", "src/b.py", "src/gen/c.py", "README.md", "docs/x.md"]
    assert matched("*.py") == ["a.py", "src/b.py", "src/gen/c.py"]
    assert matched("src/") == ["src/b.py", "src/gen/c.py"]
    assert matched("/a.py", "docs/**") == ["a.py", "docs/x.md"]
    assert matched("*.py", "!src/gen/*") == ["a.py", "src/b.py"]
    assert matched("!*.md") == ["a.py", "src/b.py", "src/gen/c.py"]
    assert matched("*.{py,md}", "!a.*") == ["src/b.py", "src/gen/c.py", "README.md", "docs/x.md"]


def test_a_batch_keeps_the_changes_that_match_under_either_name() -> None:
    moved = FileChange("renamed", "a.txt", "a.py")
    batch = Batch((moved, FileChange("edited", "b.md")), head_moved=True)
    assert Patterns(("*.py",)).only(batch) == Batch((moved,), head_moved=True)
