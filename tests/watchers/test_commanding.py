"""What is said of a command's runs."""

from __future__ import annotations

import pytest

from tidings.core.text import truncate
from tidings.watchers.commanding import MOST_LINES, Command, failing_lines, name_of, tell
from tidings.watchers.process import Run
from tidings.watchers.rerun import START, Cause
from tidings.watchers.told import Told

CARGO = Command(argv=("cargo", "check"), name="cargo-check")
GOOD = Run("passed", 0)
BAD = Run("failed", 101, "error[E0425]: cannot find value `x` in this scope\n --> src/lib.rs:3:5\n")
OWN, EDIT = Cause(("src/lib.rs",), own=True), Cause(("src/lib.rs",))


def told(before: Run | None, now: Run, cause: Cause = EDIT, command: Command = CARGO) -> str | None:
    found = tell(command, before, now, cause)
    return found.body if found is not None else None


def test_a_mended_build_is_told_with_the_key_and_ttl_of_seed_000() -> None:
    assert tell(CARGO, BAD, GOOD, OWN) == Told(
        "cargo check passed after your last edit. It failed before.",
        "cargo-check:status",
        ("command",),
        1,
    )


def test_whose_edit_it_was_is_only_said_when_it_is_known() -> None:
    assert told(BAD, GOOD) == "cargo check passed after the last edit. It failed before."
    assert told(BAD, GOOD, START) == "cargo check passed. It failed before."


def test_a_broken_build_is_told_with_its_first_failing_lines() -> None:
    assert told(GOOD, BAD) == (
        "cargo check failed with exit code 101 after the last edit. It passed before.\n"
        "- src/lib.rs:3:5: E0425: cannot find value `x` in this scope"
    )


def test_of_output_with_very_many_lines_the_first_and_the_last_are_looked_through() -> None:
    quiet = ["building"] * MOST_LINES
    lines = ["error: at first", *quiet, "error: in the middle", *quiet, "error: at last"]
    run = Run("failed", 1, "\n".join(lines))
    assert failing_lines("make", run) == ["at first", "at last"]


def test_what_stays_as_it_was_is_not_told() -> None:
    assert (told(GOOD, GOOD), told(BAD, BAD)) == (None, None)
    assert told(BAD, Run("failed", 1, "error: something else is wrong now")) is None
    assert told(GOOD, Run("passed", 0, "other words")) is None


def test_the_first_run_is_told_only_when_it_fails_unless_asked_otherwise() -> None:
    always = Command(argv=("cargo", "check"), name="c", first="always")
    never = Command(argv=("cargo", "check"), name="c", first="never")
    assert told(None, GOOD, START) is None
    assert (told(None, BAD, START) or "").startswith("cargo check failed with exit code 101.\n")
    assert told(None, GOOD, START, always) == "cargo check passed."
    assert told(None, BAD, START, never) is None


def test_every_run_is_told_when_asked_for() -> None:
    every = Command(argv=("cargo", "check"), name="c", report="every")
    assert told(GOOD, GOOD, OWN, every) == "cargo check passed after your last edit."


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (Run("timed_out", text="", deadline=5), "did not end within 5 seconds and was stopped"),
        (
            Run("not_started", text="No such file or directory"),
            "cannot be started: No such file or directory",
        ),
        (Run("failed", -9), "was ended by signal 9"),
    ],
)
def test_every_bad_end_has_its_words(run: Run, words: str) -> None:
    assert told(GOOD, run) == f"cargo check {words} after the last edit. It passed before."


def test_the_lines_of_an_unknown_command_are_those_that_sound_like_trouble() -> None:
    run = Run("failed", 1, "starting\nline two\nError: it broke\ncannot go on\nbye\n")
    assert failing_lines("./check.sh", run) == ["Error: it broke", "cannot go on"]
    assert failing_lines("./check.sh", Run("failed", 1, "a\nb\n")) == ["a", "b"]


def test_however_much_is_wrong_the_body_is_bounded() -> None:
    run = Run("failed", 1, "".join(f"src/f{n}.py:{n}:1: error: {'x' * 500}\n" for n in range(300)))
    lines = failing_lines("mypy src", run)
    assert len(lines) == 9
    assert lines[-1].startswith("and ")
    body = told(GOOD, run, command=Command(argv=("mypy", "src"), name="mypy")) or ""
    assert truncate(body, 8 * 1024) == body


@pytest.mark.parametrize(
    ("argv", "name"),
    [
        (("cargo", "check"), "cargo-check"),
        (("/opt/bin/cargo", "check", "--all"), "cargo-check"),
        (("python", "-m", "mypy", "src"), "python-mypy"),
        (("make",), "make"),
        (("--",), "command"),
    ],
)
def test_a_command_names_itself_by_program_and_first_word(argv: tuple[str, ...], name: str) -> None:
    assert name_of(argv) == name


def test_a_secret_in_the_command_line_is_not_told() -> None:
    command = Command(argv=("/usr/bin/curl", "https://u:hunter2@example.com"), name="c")
    assert command.title == "curl https://u:[redacted password]@example.com"


@pytest.mark.parametrize(
    ("argv", "name"),
    [
        (("curl", "https://shop:hunter2@db.example/health"), "curl"),
        (("env", "API_TOKEN=s3cr3t-value", "make", "check"), "env-make"),
        (("tool", "--api-key", "s3cr3tvalue", "run"), "tool-run"),
        (("sh", "-c", "make check && make lint"), "sh-make-check-make-lint"),
    ],
)
def test_a_command_is_not_named_after_a_secret_in_it(argv: tuple[str, ...], name: str) -> None:
    assert name_of(argv) == name
