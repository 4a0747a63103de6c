"""The commands that look into an event log, run in this process and on a terminal of our own."""

from __future__ import annotations

import json
import os
import pty
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.cli.logs import words, write_log
from tidings.cli.main import app
from tidings.core.records import LIFECYCLE_TOPIC
from tidings.log import open_log

COMMANDS = ("show", "follow", "topics", "verify")


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """`follow` ends on signals; run in this process, it must not leave its handlers behind."""
    before = {end: signal.getsignal(end) for end in (signal.SIGINT, signal.SIGTERM)}
    yield
    for end, handler in before.items():
        signal.signal(end, handler)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_log(tmp_path / "agent.db")


def tidings_log(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["log", *map(str, arguments)])
    return result.exit_code, result.stdout, result.stderr


def test_show_prints_one_aligned_line_per_record(path: Path) -> None:
    code, out, err = tidings_log("show", path, "--session", "s1")
    assert (code, err) == (0, "")
    assert out == (
        "     1  2026-11-15 09:52:11.000Z  transcript.reminder.injected          s1"
        '  reminder_id=r1 tags=["a"]\n'
        "     3  2026-11-15 09:52:11.002Z  transcript.reminder.expired           s1"
        "  reminder_id=r1 reason=ttl\n"
    )


def test_a_path_and_its_address_are_the_same_log(path: Path) -> None:
    assert tidings_log("show", path) == tidings_log("show", f"sqlite:///{path}")


FILTERS = {
    "all": ([], ["1", "2", "3"]),
    "kind": (["--kind-prefix", "transcript.reminder.exp"], ["3"]),
    "cursor": (["--from-cursor", "1"], ["2", "3"]),
    "limit": (["--limit", "2"], ["1", "2"]),
    "limit after session": (["--session", "s1", "--limit", "2"], ["1", "3"]),
    "topic": (["--topic", "session.s1.transcript"], ["1"]),
}


@pytest.mark.parametrize("command", ["show", "follow"])
@pytest.mark.parametrize(("options", "cursors"), FILTERS.values(), ids=FILTERS.keys())
def test_options_choose_the_records(
    path: Path, command: str, options: list[str], cursors: list[str]
) -> None:
    if command == "follow" and "--limit" not in options:
        options = [*options, "--limit", str(len(cursors))]
    code, out, _ = tidings_log(command, path, *options)
    assert (code, [columns[0] for columns in words(out)]) == (0, cursors)


def test_json_gives_the_whole_record_in_plain_ascii(path: Path) -> None:
    _, out, _ = tidings_log("show", path, "--json")
    with open_log(path) as log:
        expected = [
            {
                "cursor": record.cursor,
                "topic": record.topic,
                "kind": record.kind,
                "payload": record.payload,
                "occurred_at_ms": record.occurred_at_ms,
            }
            for record in log.read(LIFECYCLE_TOPIC)
        ]
    assert [json.loads(line) for line in out.splitlines()] == expected
    assert all(" " <= character <= "~" for line in out.splitlines() for character in line)


def test_nothing_in_a_payload_moves_the_cursor(path: Path) -> None:
    _, out, _ = tidings_log("show", path)
    assert all(character.isprintable() for line in out.splitlines() for character in line)
    assert "\\u001b[2J" in out


def on_a_terminal(*arguments: object) -> str:
    """What the command prints when its output is a terminal."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", "from tidings.cli.main import run; run()", *map(str, arguments)]
    environment = {**os.environ, "COLUMNS": "200", "TERM": "xterm", "NO_COLOR": "1"}
    shown = bytearray()
    with (
        closing(os.fdopen(ours, "rb", buffering=0)) as screen,
        subprocess.Popen(command, stdout=theirs, env=environment) as process,
    ):
        os.close(theirs)
        with suppress(OSError):  # Linux says EIO when the other side of a terminal closes
            while chunk := screen.read(4096):
                shown += chunk
        assert process.wait(timeout=30) == 0
    return shown.decode()


def test_on_a_terminal_show_draws_a_table_and_payloads_stay_harmless(path: Path) -> None:
    shown = on_a_terminal("log", "show", path)
    heading, *rows = shown.replace("\x1b[1m", "").replace("\x1b[0m", "").splitlines()
    assert heading.split() == ["#", "time", "(UTC)", "kind", "session", "details"]
    assert [row.split()[0] for row in rows] == ["1", "2", "3"]
    assert "[bold]x[/bold]" in shown
    assert "\x1b]" not in shown
    assert "\x1b[2J" not in shown
    assert "\u202e" not in shown


def test_an_unknown_topic_names_the_ones_there_are(path: Path) -> None:
    expected = f"tidings: no records in x; topics: session.s1.transcript, {LIFECYCLE_TOPIC}\n"
    assert tidings_log("show", path, "--topic", "x") == (0, "", expected)


def test_a_filter_without_a_match_says_so(path: Path) -> None:
    expected = f"tidings: nothing in {LIFECYCLE_TOPIC} matches\n"
    assert tidings_log("show", path, "--session", "s9") == (0, "", expected)


def test_topics_lists_each_with_its_last_record(path: Path) -> None:
    assert tidings_log("topics", path) == (
        0,
        f"       1  session.s1.transcript\n       3  {LIFECYCLE_TOPIC}\n",
        "",
    )
    _, out, _ = tidings_log("topics", path, "--json")
    assert json.loads(out.splitlines()[1]) == {"topic": LIFECYCLE_TOPIC, "latest": 3}


def test_verify_counts_what_is_intact(path: Path) -> None:
    assert tidings_log("verify", path) == (0, "ok: 2 topics, 4 records, 4 batches\n", "")
    _, out, _ = tidings_log("verify", path, "--json")
    assert json.loads(out) == {"ok": True, "topics": 2, "records": 4, "batches": 4, "checkpoints": []}


def test_verify_names_the_damaged_place_with_exit_code_1(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE first_records SET payload = '{}' WHERE kind LIKE '%.expired'")
        connection.commit()
    code, out, err = tidings_log("verify", path)
    assert (code, out) == (1, "")
    assert f"topic '{LIFECYCLE_TOPIC}' does not verify at cursor 3" in err
    assert err.count("\n") == 1
    code, out, err = tidings_log("verify", path, "--json")
    assert (code, err) == (1, "")
    assert json.loads(out) | {"message": ""} == {
        "ok": False, "topic": LIFECYCLE_TOPIC, "cursor": 3, "message": "",
    }  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_a_log_that_does_not_exist_is_not_created(tmp_path: Path, command: str) -> None:
    missing = tmp_path / "missing.db"
    for address in (str(missing), f"sqlite:///{missing}"):
        code, out, err = tidings_log(command, address)
        assert (code, out) == (2, "")
        assert err == f"tidings: log {address!r}: no such file; give the path of an existing event log\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("address", ["", "memory:", "sqlite:///:memory:", "redis://host"])
def test_an_address_that_is_no_file_is_refused(command: str, address: str) -> None:
    expected = f"tidings: log {address!r}: give a path, or sqlite:///path\n"
    assert tidings_log(command, address) == (2, "", expected)


def test_an_empty_file_stays_empty(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.touch()
    code, _, err = tidings_log("show", empty)
    assert (code, "the file is empty" in err, empty.stat().st_size) == (2, True, 0)


def test_a_directory_is_refused(tmp_path: Path) -> None:
    code, _, err = tidings_log("verify", tmp_path)
    assert (code, "a directory" in err) == (2, True)


def test_a_file_that_is_no_log_is_one_line_and_never_changed(tmp_path: Path) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("hello\n" * 1000)
    code, out, err = tidings_log("show", other)
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert other.read_text() == "hello\n" * 1000


def test_a_database_of_something_else_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE t (x)")
    code, _, err = tidings_log("show", other)
    assert (code, "database of another application" in err) == (2, True)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--topic", "a b"], "topic is 'a b'"),
        (["--kind-prefix", "a b"], "kind_prefix is 'a b'"),
        (["--from-cursor", "-1"], "--from-cursor"),
        (["--limit", "0"], "--limit"),
    ],
)
def test_a_wrong_option_is_exit_code_2(path: Path, options: list[str], said: str) -> None:
    code, out, err = tidings_log("show", path, *options)
    assert (code, out, said in err) == (2, "", True)
