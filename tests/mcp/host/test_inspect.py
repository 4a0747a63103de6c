"""`tidings mcp inspect` as a real process: what it shows, when it ends, and how it refuses."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.mcp.host.running import SCRIPT as FAKE

TIDINGS = str(Path(sys.executable).with_name("tidings"))
ROOT = Path(__file__).parents[3]
DEADLINE = 60
GREETING = [
    {"body": "hi", "propagate": "all", "colour": "red"},
    {"body": "\x1b[31mred"},
    {"body": "  "},
]
ADVERTISED = {"emit": True, "propagate": ["session", "none"], "roleHints": ["system", "developer"]}


def inspect(*arguments: str) -> tuple[int, str, str]:
    command = [TIDINGS, "mcp", "inspect", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE, check=False)
    return done.returncode, done.stdout, done.stderr


def server(**settings: Any) -> list[str]:
    return [sys.executable, FAKE, json.dumps(settings)]


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_it_shows_what_a_server_is_what_it_pushes_and_what_became_of_it(era: str) -> None:
    wanted = ["--json", "--count", "3", "--for", "50", "--", *server(era=era, greeting=GREETING)]
    code, out, err = inspect(*wanted)
    events = [json.loads(line) for line in out.splitlines()]
    name = Path(sys.executable).name
    assert (code, err) == (0, "")
    assert {key: events[0][key] for key in ("event", "server", "era", "reminders", "conversation")} == {
        "event": "connected",
        "server": name,
        "era": era,
        "reminders": ADVERTISED,
        "conversation": None,
    }
    assert [one["params"]["reminder"]["body"] for one in events if one["event"] == "pushed"] == [
        "hi",
        "\x1b[31mred",
        "  ",
    ]
    became = [(one["event"], one["reminder_id"]) for one in events if "reminder_id" in one]
    assert became == [
        ("warning", "r-hi"),
        ("accepted", "r-hi"),
        ("lowered", "r-hi"),
        ("accepted", "r-\x1b[31mred"),
        ("dropped", "r-"),
    ]
    assert (events[-1]["reason"], events[-1]["count"]) == ("invalid", 1)


def test_its_lines_for_people_obey_no_escape_sequence() -> None:
    code, out, err = inspect("--count", "3", "--for", "50", "--", *server(greeting=GREETING))
    lines = out.splitlines()
    assert (code, err) == (0, "")
    assert lines[0].endswith(f"reminders advertised: {json.dumps(ADVERTISED, separators=(',', ':'))}")
    assert "lowered  r-hi: propagate all → session" in lines
    assert "accepted r-\\x1b[31mred" in lines
    assert lines[-1].startswith("dropped  r-: invalid: notifications/reminder: HARN-RMD-002")
    assert "\x1b" not in out


def test_a_server_that_advertises_none_is_said_to_be_dropped() -> None:
    code, out, _ = inspect("--count", "3", "--for", "50", "--", *server(advertise=False, greeting=GREETING))
    assert code == 0
    assert "no reminders advertised: what it sends is dropped" in out
    assert "dropped  r-hi: undeclared: the server does not advertise reminders" in out
    assert "dropped  2 more: undeclared" in out


@pytest.mark.parametrize(
    ("form", "asks", "said"),
    [
        (
            "proper",
            {"purpose": "recalls the schema", "form": "request"},
            ", and says why: 'recalls the schema'",
        ),
        ("literal", {"purpose": "", "form": "notification"}, ""),
    ],
)
def test_it_says_what_a_server_asks_to_see_and_why_before_anybody_consents(
    tmp_path: Path, form: str, asks: dict[str, str], said: str
) -> None:
    program = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import runpy;"
    run = "runpy.run_module('tests.mcp.conversation.server', run_name='__main__')"
    words = ["--for", "0.2", "--", sys.executable, "-c", program + run, form, str(tmp_path / "seen")]
    code, out, _ = inspect("--json", *words)
    wish = {"asks": ["message", "history", "assistant"], **asks}
    assert (code, json.loads(out.splitlines()[0])["conversation"]) == (0, wish)
    sees = "the messages that you send and the recent history beside them and what the assistant answers"
    assert inspect(*words)[1].splitlines()[0].endswith(f"; asks to see {sees}{said}")
    assert not (tmp_path / "seen").exists()


def test_a_name_is_looked_up_in_a_config(tmp_path: Path) -> None:
    command, *args = server(era="modern")
    config = tmp_path / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"watcher": {"command": command, "args": args}}}))
    code, out, _ = inspect("--config", str(config), "watcher", "--for", "0.2")
    assert (code, out.partition(":")[0]) == (0, "watcher")
    code, _, err = inspect("--config", str(config), "other")
    assert (code, err) == (
        2,
        "tidings: with --config give the name of one server; the file has watcher\n",
    )


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([], 2, "name a server: a url, a command after --, or a name together with --config"),
        (["--era", "stone", "x"], 2, "--era must be auto, modern or legacy; got 'stone'"),
        (["--config", "/no/such.json", "x"], 2, "cannot be read: No such file or directory"),
        (["--", "/no/such/program"], 1, "program: not connected: '/no/such/program' cannot be started"),
        (["http://127.0.0.1:9/mcp"], 1, "server: not connected: ConnectError"),
    ],
)
def test_a_wrong_question_and_bad_news_have_their_exit_codes(
    arguments: list[str], code: int, said: str
) -> None:
    found = inspect(*arguments)
    assert found[0] == code
    assert said in found[1] + found[2]


def test_ctrl_c_ends_it_in_order() -> None:
    command = [TIDINGS, "mcp", "inspect", "--", *server()]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert "reminders advertised" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=DEADLINE)
    assert (process.returncode, err) == (0, "")
