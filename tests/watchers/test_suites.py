"""The test watcher with real runners."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
from pathlib import Path

import pytest

from tests.watchers.waiting import following
from tidings.errors import CallerError
from tidings.watchers.process import Run
from tidings.watchers.runners import Runner, find_runner, runner_of
from tidings.watchers.suites import SuiteWatcher, read_report

PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib")


def test_pytest_turns_are_told_by_name_through_every_kind_of_trouble(tmp_path: Path) -> None:
    suite = tmp_path / "tests/test_cart.py"
    suite.parent.mkdir()
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    other = "\n\ndef test_other():\n    pass\n"
    suite.write_text("def test_total():\n    assert 1 + 1 == 2\n" + other)

    async def play() -> list[tuple[str, str]]:
        told = []
        async with following(SuiteWatcher(PYTEST, tmp_path, patterns=("*.py",))) as watcher:
            for text in (
                "def test_total():\n    assert 1 + 1 == 3, 'off'\n" + other,
                "def test_total(:\n",
                "def test_total():\n    assert 1 + 1 == 2\n" + other,
                "import os\nos._exit(7)\n",
                "def test_total():\n    assert 1 + 1 == 2\n" + other,
            ):
                suite.write_text(text)
                told.append(await watcher.next())
        return [(one.dedupe_key, one.body) for one in told]

    told = asyncio.run(play())
    command = "python -m pytest -q -p no:cacheprovider --import-mode=importlib"
    assert told == [
        ("test:tests/test_cart.py", told[0][1]),
        ("test:tests/test_cart.py", "tests/test_cart.py cannot be run: SyntaxError: invalid syntax"),
        ("test:tests/test_cart.py", "tests/test_cart.py now passes. (test_total)"),
        ("test:run", told[3][1]),
        ("test:run", f"{command} can be run again."),
    ]
    assert told[0][1] in (
        "tests/test_cart.py: 1 test turned red.\n- test_total: AssertionError: off",
        "tests/test_cart.py: 1 test fails.\n- test_total: AssertionError: off",
    )
    assert told[3][1].startswith(f"The tests gave no result: {command} failed with exit code 7.")


@pytest.mark.skipif(shutil.which("go") is None, reason="go is not installed")
def test_go_tests_are_found_run_and_told(tmp_path: Path) -> None:
    (tmp_path / "go.mod").write_text("module shop\n\ngo 1.21\n")
    code = 'package shop\n\nimport "testing"\n\nfunc TestA(t *testing.T) {{\n\t{body}\n}}\n'
    (tmp_path / "a_test.go").write_text(code.format(body='t.Error("bad")'))

    async def play() -> list[str]:
        async with following(SuiteWatcher(None, tmp_path)) as watcher:
            first = (await watcher.next()).body
            (tmp_path / "a_test.go").write_text(code.format(body=""))
            return [first, (await watcher.next()).body]

    assert asyncio.run(play()) == [
        "shop: 1 test fails.\n- TestA: a_test.go:6: bad",
        "shop now passes. (TestA)",
    ]


@pytest.mark.skipif(shutil.which("cargo") is None, reason="cargo is not installed")
def test_cargo_tests_are_found_run_and_told_through_a_crash_and_code_that_does_not_compile(
    tmp_path: Path,
) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "tests").mkdir()
    (tmp_path / ".gitignore").write_text("target\nCargo.lock\n")
    (tmp_path / "Cargo.toml").write_text('[package]\nname = "shop"\nversion = "0.1.0"\n\n[workspace]\n')
    (tmp_path / "tests/api_test.rs").write_text("#[test]\nfn answers() { assert_eq!(shop::total(), 3); }\n")

    def code(body: str) -> None:
        (tmp_path / "src/lib.rs").write_text(f"pub fn total() -> i32 {{ {body} }}\n")

    async def play() -> list[str]:
        bodies = []
        code("4")
        async with following(SuiteWatcher(None, tmp_path)) as watcher:
            for body in ("std::process::abort()", "3", "nothing", "3"):
                bodies.append((await watcher.next()).body)
                code(body)
            return [*bodies, (await watcher.next()).body]

    told = asyncio.run(play())
    assert told[0].startswith("tests/api_test.rs: 1 test fails.\n- answers: ")
    assert told[1].startswith("tests/api_test.rs cannot be run: its process ended early (signal: 6")
    assert told[2] == "tests/api_test.rs now passes. (answers)"
    assert told[3].startswith("shop cannot be run: src/lib.rs:1:")
    assert told[4] == "shop can be run again."


def test_a_suite_that_never_ends_is_told_at_its_deadline(tmp_path: Path) -> None:
    async def play() -> str:
        async with following(SuiteWatcher(("sleep", "600"), tmp_path, deadline=0.2)) as watcher:
            return (await watcher.next()).body

    assert asyncio.run(play()) == (
        "The tests gave no result: sleep 600 did not end within 0.2 seconds and was stopped."
    )


def test_a_run_that_failed_though_nothing_in_its_report_did_has_no_report(tmp_path: Path) -> None:
    text, file = "3 passed in 0.1s\n", tmp_path / "report"
    assert read_report(Run("passed", 0, text), file, tmp_path) is not None
    assert read_report(Run("failed", 1, text), file, tmp_path) is None
    assert read_report(Run("timed_out", None, text), file, tmp_path) is None


def test_the_report_file_counts_more_than_the_output(tmp_path: Path) -> None:
    file = tmp_path / "report"
    file.write_text((Path(__file__).parent / "fixtures/pytest_red.xml").read_text())
    report = read_report(Run("failed", 1, "1 failed in 0.1s\n"), file, tmp_path)
    assert report is not None
    assert (report.tool, len(report.cases)) == ("junit", 5)


def test_known_secrets_leave_a_report_however_they_are_written_and_short_words_stay(tmp_path: Path) -> None:
    value, file = 'p<a>&"ss\\word', tmp_path / "report"
    environ = {"SHOP_PASSWORD": value, "PIN_KEY": "1"}
    begin = "p&lt;a&gt;&amp;"
    xml = (
        f'<testsuites><testcase file="t" name="t1"><failure message="{begin}&quot;ss\\word"/></testcase>'
        f'<testcase file="t" name="t2"><failure>{begin}"ss\\word</failure></testcase></testsuites>'
    )
    results = [{"fullName": "t1", "status": "failed", "failureMessages": [f"got {value}"]}]
    told = {"numTotalTests": 1, "testResults": [{"name": "t.js", "assertionResults": results}]}
    for text in (xml, json.dumps(told)):
        file.write_text(text)
        report = read_report(Run("failed", 1), file, tmp_path, environ)
        assert report is not None
        assert report.cases[0].name == "t1"
        assert "ss" not in "".join(one.message for one in report.cases)
        assert {"[redacted known value]" in one.message for one in report.cases} == {True}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"go.mod": ""}, Runner(("go", "test", "-json", "./..."))),
        ({"Cargo.toml": ""}, Runner(("cargo", "test", "--no-fail-fast"))),
        ({"tests/test_a.py": ""}, Runner(("pytest", "-q"), junit=True)),
        ({"pyproject.toml": "[tool.pytest.ini_options]\n"}, Runner(("pytest", "-q"), junit=True)),
        (
            {"package.json": '{"devDependencies": {"jest": "1"}}'},
            Runner(("npx", "--no-install", "jest", "--json", "--outputFile={report}")),
        ),
        (
            {"package.json": '{"dependencies": {"vitest": "1"}}'},
            Runner(("npx", "--no-install", "vitest", "run", "--reporter=json", "--outputFile={report}")),
        ),
    ],
)
def test_the_runner_of_a_project_is_found_by_its_files(
    tmp_path: Path, files: dict[str, str], expected: Runner
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert find_runner(tmp_path) == expected


def test_no_runner_or_several_are_refused_with_the_fix(tmp_path: Path) -> None:
    with pytest.raises(CallerError, match="no test runner that is known; give the command"):
        find_runner(tmp_path)
    (tmp_path / "go.mod").touch()
    (tmp_path / "Cargo.toml").touch()
    with pytest.raises(CallerError, match=r"several test runners \(go, cargo\)"):
        find_runner(tmp_path)


def test_only_pytest_itself_is_asked_for_a_report(tmp_path: Path) -> None:
    report = tmp_path / "r"
    settings = runner_of(("python", "-m", "pytest")).environment(report, {"PYTEST_ADDOPTS": "-x"})
    assert settings == {"PYTEST_ADDOPTS": f"-x -o junit_family=xunit1 --junitxml={report}"}
    assert runner_of(("make", "test")).environment(report, {}) == {}
    assert runner_of(("pytest", "--junitxml=own.xml")).environment(report, {}) == {}
    assert Runner(("jest", "--outputFile={report}")).arguments(report) == ["jest", f"--outputFile={report}"]
