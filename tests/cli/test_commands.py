"""Version, explain and lint, run in this process."""

from __future__ import annotations

import json
import platform
import sqlite3
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from tidings.cli.main import COMMANDS, app
from tidings.diagnostics.catalogue import BY_CODE, CATALOGUE
from tidings.diagnostics.entry import Diagnostic
from tidings.diagnostics.explain import explain
from tidings.version import __version__

BAD = "import tidings as td\ntd.clear_reminders(t)\n"
FOUND = ":2:1 HARN-RMD-001 give at least one of id, tag, dedupe_key\n"


def tidings(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, list(arguments), prog_name="tidings")
    return result.exit_code, result.stdout, result.stderr


def test_version_is_one_plain_line() -> None:
    assert tidings("version") == (0, f"tidings {__version__}\n", "")
    assert tidings("--version") == (0, f"tidings {__version__}\n", "")


def test_version_as_json_names_what_it_stands_on() -> None:
    code, out, _ = tidings("version", "--json")
    assert code == 0
    assert json.loads(out) == {
        "tidings": __version__,
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "msgspec": msgspec.__version__,
    }


def test_version_loads_neither_the_log_nor_the_linter() -> None:
    script = (
        "import sys\nfrom tidings.cli.main import app\n"
        "try: app(['version'])\nexcept SystemExit: pass\n"
        "print([m for m in ('sqlite3', 'tidings.log', 'tidings.diagnostics', 'rich.table')"
        " if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=30)
    assert done.stdout == f"tidings {__version__}\n[]\n"


def test_explain_prints_the_explanation() -> None:
    assert tidings("explain", "rmd-5") == (0, f"{explain('5')}\n", "")


def test_explain_without_a_code_lists_them_all() -> None:
    code, out, _ = tidings("explain")
    assert code == 0
    assert [line.split("  ")[0].strip() for line in out.splitlines()] == list(BY_CODE)


def test_explain_as_json_gives_the_entry_or_all() -> None:
    _, one, _ = tidings("explain", "HARN-RMD-005", "--json")
    _, every, _ = tidings("explain", "--json")
    assert msgspec.json.decode(one, type=Diagnostic) == BY_CODE["HARN-RMD-005"]
    assert msgspec.json.decode(every, type=tuple[Diagnostic, ...]) == CATALOGUE


def test_an_unknown_code_is_one_line_and_exit_code_2() -> None:
    code, out, err = tidings("explain", "HARN-RMD-099\x1b[31m")
    assert (code, out) == (2, "")
    assert err.startswith("tidings: unknown diagnostic code 'HARN-RMD-099")
    assert "\x1b" not in err
    assert err.count("\n") == 1


def test_lint_prints_findings_and_says_so_with_its_exit_code(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text(BAD)
    assert tidings("lint", str(file)) == (1, f"{file}{FOUND}", "")


def test_lint_of_clean_files_is_silent(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    assert tidings("lint", str(tmp_path)) == (0, "", "")


@pytest.mark.parametrize("form", ["json", "sarif"])
def test_lint_speaks_the_formats_of_other_tools(tmp_path: Path, form: str) -> None:
    (tmp_path / "a.py").write_text(BAD)
    code, out, _ = tidings("lint", str(tmp_path), "--format", form)
    assert code == 1
    assert "HARN-RMD-001" in json.dumps(json.loads(out))


def test_lint_speaks_to_github(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(BAD)
    code, out, _ = tidings("lint", str(tmp_path), "--format", "github")
    assert (code, out.startswith("::error file=")) == (1, True)


def test_a_missing_path_is_one_line_and_exit_code_2(tmp_path: Path) -> None:
    expected = f"tidings: there is no '{tmp_path}/nowhere'; give Python files or directories\n"
    assert tidings("lint", f"{tmp_path}/nowhere") == (2, "", expected)


@pytest.mark.parametrize(
    "arguments",
    [["lint"], ["lint", ".", "--format", "xml"], ["nonsense"], ["log", "nonsense"], ["--nonsense"]],
)
def test_a_wrong_usage_is_exit_code_2_without_a_traceback(arguments: list[str]) -> None:
    code, out, err = tidings(*arguments)
    assert (code, out) == (2, "")
    assert "Usage: tidings" in err
    assert "Traceback" not in err


def test_a_misspelt_command_gets_the_near_one() -> None:
    assert "Did you mean 'lint'?" in tidings("lnt")[2]


def test_help_lists_every_command_and_each_has_its_own() -> None:
    _, out, _ = tidings("--help")
    for name in COMMANDS:
        assert f" {name} " in out
        code, help_, _ = tidings(name, "--help")
        assert (code, f"Usage: tidings {name}" in help_) == (0, True)
