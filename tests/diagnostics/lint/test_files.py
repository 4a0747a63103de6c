from __future__ import annotations

import os
from pathlib import Path

import pytest

from tidings.diagnostics.lint import LintPathError, lint_paths
from tidings.diagnostics.lint.files import files_under
from tidings.errors import CallerError

BAD = "import tidings as td\ntd.clear_reminders(t)\n"


def write(root: Path, *names: str, text: str = BAD) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")


def test_a_directory_is_walked_without_what_others_wrote(tmp_path: Path) -> None:
    write(tmp_path, "b.py", "a/c.py", "a/notes.txt", ".hidden.py", ".venv/x.py", ".git/x.py")
    write(tmp_path, "node_modules/x.py", "a/__pycache__/x.py", "env/x.py", "env/pyvenv.cfg")
    found = [path.relative_to(tmp_path).as_posix() for path in files_under([tmp_path])]
    assert found == ["a/c.py", "b.py"]


def test_a_path_given_by_name_is_always_read(tmp_path: Path) -> None:
    write(tmp_path, ".venv/x.py", "script")
    assert len(lint_paths([tmp_path / ".venv", tmp_path / "script"])) == 2


def test_a_file_that_is_given_twice_is_read_once(tmp_path: Path) -> None:
    write(tmp_path, "a.py")
    (tmp_path / "b.py").symlink_to(tmp_path / "a.py")
    (tmp_path / "gone.py").symlink_to(tmp_path / "nowhere")
    assert len(lint_paths([tmp_path, tmp_path / "a.py", str(tmp_path / "." / "a.py")])) == 1


def test_findings_of_several_files_come_in_one_stable_order(tmp_path: Path) -> None:
    write(tmp_path, "b.py", "a.py")
    found = [Path(finding.path).name for finding in lint_paths([tmp_path / "b.py", tmp_path])]
    assert found == ["a.py", "b.py"]


def test_providers_are_counted_over_all_files_together(tmp_path: Path) -> None:
    for n in range(9):
        write(tmp_path, f"p{n}.py", text=f"td.register_reminder_provider(id='p{n}', evaluate=f)\n")
    assert [finding.code for finding in lint_paths([tmp_path])] == ["HARN-RMD-007"]
    assert lint_paths([tmp_path / "p8.py"]) == ()


def test_a_missing_path_is_an_error_of_the_caller(tmp_path: Path) -> None:
    with pytest.raises(LintPathError, match=r"there is no '.*nowhere'; give Python files") as error:
        lint_paths([tmp_path / "nowhere"])
    assert isinstance(error.value, CallerError)


@pytest.mark.parametrize("data", [b"x = '\xff'\n", b"# coding: klingon\n"])
def test_a_file_that_is_not_utf8_is_a_clear_error(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.py").write_bytes(data)
    with pytest.raises(LintPathError, match=r"a\.py is not UTF-8 text; save it as UTF-8"):
        lint_paths([tmp_path])


def test_a_coding_comment_is_honoured(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes("# coding: latin-1\nx = 'ü'\ntd.clear_reminders(t)\n".encode("latin-1"))
    assert len(lint_paths([tmp_path])) == 1


def test_a_file_that_cannot_be_read_is_a_clear_error(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    assert lint_paths([tmp_path]) == ()
    write(tmp_path, "a.py")
    if os.getuid() != 0:
        (tmp_path / "a.py").chmod(0)
        with pytest.raises(LintPathError, match="cannot be read"):
            lint_paths([tmp_path])


def test_nothing_that_is_linted_is_run(tmp_path: Path) -> None:
    write(tmp_path, "a.py", text=f"open({str(tmp_path / 'ran')!r}, 'w')\n{BAD}")
    assert len(lint_paths([tmp_path])) == 1
    assert not (tmp_path / "ran").exists()
