"""`tidings.toml` is read whole, or every problem of it is named with its field, line and fix."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.core.trust import POWERS
from tidings.hub.workspace import settings
from tidings.hub.workspace.claims import claims
from tidings.hub.workspace.problems import Places, WorkspaceConfigError
from tidings.hub.workspace.reading import LARGEST, read_file, read_text
from tidings.hub.workspace.settings import Check, Config, Files, Limits, Server, Sessions, Suite, Watch
from tidings.mcp.rules import Rule

FULL = """
[sessions]
tags = ["release"]
deliver_within = 30

[watch.files]
only = ["*.py", "!gen/"]

[watch.tests]
command = "pytest -q"
deadline = 60

[watch.commands.types]
command = ["mypy", "--strict"]
only = ["*.py"]
report = "every"

[watch.reviews]
secret_env = ["HOOK_SECRET"]
repositories = ["team/shop"]

[servers.ci]
url = "https://ci.example/mcp"
headers = { Authorization = "Bearer ${CI_TOKEN}" }
grants = ["preserve_on_compact"]
budget = { per_minute = 5 }
rules = [{ on = "resource_updated", match = "ci://main" }]

[budget]
per_minute = 10

[grants]
tests = ["interrupt_immediate", "wake_idle"]
"""


def problems(text: str, folder: Path) -> list[str]:
    with pytest.raises(WorkspaceConfigError) as found:
        read_text(text, folder)
    return [str(one) for one in found.value.problems]


def test_a_full_file_becomes_its_values(tmp_path: Path) -> None:
    assert read_text(FULL, tmp_path) == Config(
        sessions=Sessions(tags=("release",), deliver_within=30.0),
        watch=Watch(
            files=Files(only=("*.py", "!gen/")),
            tests=Suite(command="pytest -q", deadline=60.0),
            commands={"types": Check(command=("mypy", "--strict"), only=("*.py",), report="every")},
            reviews=settings.Reviews(secret_env=("HOOK_SECRET",), repositories=("team/shop",)),
        ),
        servers={
            "ci": Server(
                url="https://ci.example/mcp",
                headers={"Authorization": "Bearer ${CI_TOKEN}"},
                grants=("preserve_on_compact",),
                budget=Limits(per_minute=5),
                rules=(Rule(on="resource_updated", match="ci://main"),),
            )
        },
        budget=Limits(per_minute=10),
        grants={"tests": ("interrupt_immediate", "wake_idle")},
    )


def test_an_empty_file_watches_nothing(tmp_path: Path) -> None:
    assert read_text("", tmp_path) == Config()


def test_every_problem_is_named_at_once_in_the_order_of_the_file(tmp_path: Path) -> None:
    text = """\
[sesions]
[watch.files]
poll = "yes"
foldr = "."
[watch.commands.types]
deadline = -1
[watch.tests]
command = "pytest 'x"
folder = "nope"
[servers.ci]
grants = ["all"]
[grants]
type = ["wake_idle"]
"""
    assert problems(text, tmp_path) == [
        "line 1: `sesions`: this key is not known; did you mean `sessions`? "
        "known are budget, grants, servers, sessions, watch",
        "line 3: `watch.files.poll` is 'yes'; give true or false",
        "line 4: `watch.files.foldr`: this key is not known; did you mean `folder`? "
        "known are enabled, folder, only, poll",
        'line 5: `watch.commands.types.command`: it is missing; give a command, such as "cargo check" or '
        '["cargo", "check"]',
        "line 6: `watch.commands.types.deadline` is -1; give seconds: a number above 0, at most a week",
        'line 8: `watch.tests.command` is "pytest \'x"; close its quotes (No closing quotation)',
        f"line 9: `watch.tests.folder` is 'nope'; there is no such folder in {str(tmp_path)!r}",
        "line 11: `servers.ci.grants` is ['all']; give a list of propagate_all, preserve_on_compact, "
        "interrupt_immediate, wake_idle",
        "line 13: `grants.type`: there is no such watcher; did you mean `types`? "
        "there are files, tests, types",
    ]


SINGLE = {
    "no TOML": ("a = 1\nb =", "line 2: the file: this is not TOML: Invalid value"),
    "twice": ("[watch]\n[watch]", "line 2: the file: this is not TOML: Cannot declare ('watch',) twice"),
    "not a table": ("[watch]\nfiles = 1", "line 2: `watch.files` is 1; write a table: [watch.files]"),
    "not named": (
        "[watch]\ncommands = 3",
        "line 2: `watch.commands` is 3; write a table with a name: [watch.commands.NAME]",
    ),
    "reserved": (
        "[watch.commands.files]\ncommand = 'x'",
        "line 1: `watch.commands.files`: 'files' is the name of a watcher of its own; choose another",
    ),
    "odd name": (
        "[watch.commands.'a b']\ncommand = 'x'",
        "line 1: `watch.commands.a b`: a name has letters, digits, dots, dashes and underscores, "
        "60 at most",
    ),
    "empty": (
        "[watch.commands.a]\ncommand = ''",
        "line 2: `watch.commands.a.command` is ''; give a command, such as \"cargo check\" or "
        '["cargo", "check"]',
    ),
    "blank": (
        "[watch.commands.a]\ncommand = ' '",
        "line 2: `watch.commands.a.command` is ' '; name a program to run",
    ),
    "both": (
        "[servers.a]\ncommand = 'x'\nurl = 'http://a.example'",
        "line 1: `servers.a`: give either `command` (a program to start) or `url`, not both and not none",
    ),
    "scheme": ("[servers.a]\nurl = 'x'", "line 2: `servers.a.url`: it must begin with https:// or http://"),
    "headers": (
        "[servers.a]\ncommand = 'x'\nheaders = {a = 'b'}",
        "line 3: `servers.a.headers`: this is for servers with a `url`; leave it out",
    ),
    "review of nothing": (
        "[watch.reviews]",
        "line 1: `watch.reviews`: give `secret_env` for webhooks, `poll_url` for an endpoint to ask, "
        "or both",
    ),
    "token in the clear": (
        "[watch.reviews]\npoll_url = 'http://ci.example/x'\ntoken_env = 'T'",
        "line 2: `watch.reviews.poll_url`: a token would go to 'ci.example' unencrypted; use https",
    ),
    "grant of a server": (
        "[servers.a]\ncommand = 'x'\n[grants]\na = []",
        "line 4: `grants.a`: grants of a server stand in [servers.a]",
    ),
    "rule": (
        "[servers.a]\ncommand = 'x'\nrules = [{on = 'never'}]",
        "line 3: `servers.a.rules` is [{'on': 'never'}]; give a list of rules, such as "
        '{on = "resource_updated", match = "ci://main"} (rule `on` must be one of resource_updated, '
        "tools_changed, prompts_changed, resources_changed, progress_finished; got 'never')",
    ),
}


@pytest.mark.parametrize(("text", "told"), SINGLE.values(), ids=SINGLE.keys())
def test_a_problem_says_where_it_is_and_what_to_write(tmp_path: Path, text: str, told: str) -> None:
    assert problems(text, tmp_path) == [told]


SECRETS = {
    "telling name": ("[servers.a]\ncommand = 'x'\nenv = {API_KEY = 'hunter2'}", "API_KEY"),
    "token shape": (f"[servers.a]\ncommand = 'x'\nenv = {{A = 'ghp_{'a1B2' * 9}'}}", "A"),
    "header": (
        "[servers.a]\nurl = 'https://a.example'\nheaders = {Authorization = 'Bearer hunter2hunter2hunter'}",
        "AUTHORIZATION",
    ),
    "password in a url": ("[servers.a]\nurl = 'https://me:hunter2@a.example'", "URL"),
    "in a command": ("[servers.a]\ncommand = ['x', '--token', 'hunter2hunter2']", "COMMAND"),
}


@pytest.mark.parametrize(("text", "variable"), SECRETS.values(), ids=SECRETS.keys())
def test_a_secret_in_the_file_is_refused_and_never_shown(tmp_path: Path, text: str, variable: str) -> None:
    (told,) = problems(text, tmp_path)
    assert f'it holds a secret; write "${{{variable}}}" and set that variable' in told
    assert "hunter2" not in told
    assert "a1B2" not in told


def test_a_wrong_value_that_holds_a_secret_is_not_shown(tmp_path: Path) -> None:
    told = problems("[servers.a]\ncommand = 'x'\nenv = ['hunter2hunter2']\n", tmp_path)
    assert told == ["line 3: `servers.a.env`: give a table of texts"]


def test_variables_are_left_to_be_filled_in_when_a_server_starts(tmp_path: Path) -> None:
    text = "[servers.a]\ncommand = 'x'\nenv = {API_KEY = '${API_KEY}', LEVEL = 'debug', T = '${A:-b}'}"
    env = read_text(text, tmp_path).servers["a"].env
    assert env == {"API_KEY": "${API_KEY}", "LEVEL": "debug", "T": "${A:-b}"}


def test_the_file_of_a_folder_is_read_and_none_is_fine(tmp_path: Path) -> None:
    assert read_file(tmp_path) is None
    (tmp_path / "tidings.toml").write_text("[watch.files]\n")
    found = read_file(tmp_path)
    assert found is not None
    assert found.config == Config(watch=Watch(files=Files()))


def refused(folder: Path, data: bytes, mode: int = 0o644) -> str:
    (folder / "tidings.toml").write_bytes(data)
    (folder / "tidings.toml").chmod(mode)
    with pytest.raises(WorkspaceConfigError) as found:
        read_file(folder)
    return str(found.value).removeprefix(f"{folder / 'tidings.toml'}: ")


def test_a_file_that_cannot_be_trusted_or_read_is_refused(tmp_path: Path) -> None:
    assert refused(tmp_path, b"", 0o646) == (
        "the file: others may write it, and it names commands; run `chown` or `chmod o-w`"
    )
    assert refused(tmp_path, b"\xff") == "the file: byte 0 is not UTF-8; save it as UTF-8"
    assert (
        refused(tmp_path, b"#" * (LARGEST + 1)) == "the file: it has more than 1048576 bytes; keep it short"
    )
    os.unlink(tmp_path / "tidings.toml")
    (tmp_path / "tidings.toml").mkdir()
    with pytest.raises(WorkspaceConfigError, match=r"it cannot be read \(Is a directory\)"):
        read_file(tmp_path)


def test_keys_are_found_in_every_usual_spelling() -> None:
    lines = """\
a = 1
[b."c d"]
e.f = '''
[not.a.table]
'''
  h = 2
[[b.list]]
x = 1
[[b.list]]
y = 2
"""
    places = Places(lines)
    paths = ("a", "b.c d", "b.c d.e", "b.c d.e.f", "b.c d.h", "b.list", "b.list.0.x", "b.list.1.y", "not.a")
    found = {path: places.line(tuple(path.split("."))) for path in (*paths, "b.c d.z.q")}
    assert list(found.values()) == [1, 2, 3, 3, 6, 7, 8, 10, None, 2]


def test_the_powers_are_those_of_the_core() -> None:
    assert settings.Power.__args__ == POWERS  # type: ignore[attr-defined]


CHANGES = {
    "narrower files": ("[watch.files]\nonly = ['*.py']", "[watch.files]\nonly = ['*.rs']\n", False),
    "a watcher less": ("[watch.files]\n[watch.tests]", "[watch.files]", False),
    "switched off": ("[watch.files]", "[watch.files]\nenabled = false", False),
    "another command": (
        "[watch.commands.a]\ncommand = 'x'",
        "[watch.commands.a]\ncommand = 'y'",
        True,
    ),
    "another server": (
        "[servers.a]\ncommand = 'x'",
        "[servers.a]\ncommand = 'x'\nenv = {A = '${B}'}",
        True,
    ),
    "a grant": ("[watch.files]", "[watch.files]\n[grants]\nfiles = ['wake_idle']", True),
    "a tag": ("[watch.files]", "[watch.files]\n[sessions]\ntags = ['x']", True),
    "new": ("", "[watch.files]", True),
}


@pytest.mark.parametrize(("before", "after", "more"), CHANGES.values(), ids=CHANGES.keys())
def test_what_a_changed_file_claims_beyond_the_former_is_known(
    tmp_path: Path, before: str, after: str, more: bool
) -> None:
    known, new = (claims(read_text(text, tmp_path)) for text in (before, after))
    assert (not new <= known) is more


def told(text: str) -> list[str] | None:
    """The problems of a text; None when it has none."""
    try:
        read_text(text, Path("/"))
    except WorkspaceConfigError as error:
        return [str(one) for one in error.problems]
    return None


@given(st.text(max_size=200))
def test_no_text_whatever_breaks_the_reader(text: str) -> None:
    assert told(text) != []


_NAMES = st.sampled_from(
    ["watch", "files", "tests", "commands", "servers", "grants", "budget", "env", "x", "rules"]
)
_VALUES = st.recursive(
    st.one_of(st.integers(), st.booleans(), st.text(max_size=8), st.floats(allow_nan=False)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_NAMES, inner, max_size=4)),
    max_leaves=12,
)


@given(st.dictionaries(_NAMES, _VALUES, max_size=5))
def test_no_table_whatever_breaks_the_reader(table: dict[str, object]) -> None:
    found = told(_toml(table))
    assert found != []
    assert not any("not TOML" in one for one in found or ())


def _toml(table: dict[str, object]) -> str:
    return "\n".join(f"{name} = {_inline(value)}" for name, value in table.items())


def _inline(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} = {_inline(one)}" for name, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_inline, value)) + "]"
    if isinstance(value, str):
        text = value.encode(errors="replace").decode()
        return '"' + "".join(f"\\U{ord(c):08X}" for c in text) + '"'
    if isinstance(value, float):
        return "inf" if value == float("inf") else "-inf" if value == float("-inf") else f"{value:.1f}"
    return str(value)
