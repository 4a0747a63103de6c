"""The demo: what happens in a folder reaches the agent's next request, through the real hub."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tidings.agent.answered import Answered
from tidings.cli.showing import ground
from tidings.cli.showing.coder import MODELS, Coder, chosen_model
from tidings.cli.showing.play import Ears
from tidings.rendering.request import Request
from tidings.rendering.route import route

pytest.importorskip("watchfiles", reason="the demo's watchers need watchfiles (extra watch)")

DEADLINE = 180
RUN = "from tidings.cli.start import run; run()"


def environ(home: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in MODELS}
    return {**kept, "TIDINGS_HOME": str(home / "home"), "XDG_RUNTIME_DIR": str(home)}


def test_the_demo_ends_by_itself_and_its_agent_heard_red_change_and_green(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", RUN, "up", "--demo", "--once", "--port", "0"],
        env=environ(tmp_path),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    heard = [re.sub(r"request \d+", "request N", line.split(None, 1)[1]) for line in hears(done.stdout)]
    assert list(dict.fromkeys(heard)) == [
        "request N shows: test_greeting.py: 1 test fails.",
        "request N shows: greeting.py changed on disk; re-read it before editing.",
        "request N shows: test_greeting.py now passes. (Greeting::test_greets_politely)",
    ]
    assert "token" not in done.stdout
    assert not list((tmp_path / "home").glob("hub.json"))


def hears(output: str) -> list[str]:
    return [line for line in output.splitlines() if line.strip().startswith("hears")]


def test_the_coder_gives_up_when_no_news_comes() -> None:
    coder = Coder(pace=45.0)
    said = [coder._step({"messages": []}).text for _ in range(3)]
    assert said == ["I look around until I hear of the tests."] * 2 + ["Nothing more came; I stop here."]


def test_what_a_tool_gave_is_not_taken_for_news() -> None:
    coder = Coder(pace=45.0)
    tool = {"role": "tool", "content": "1 test fails"}
    assert coder._step({"messages": [tool]}).text == "I look around until I hear of the tests."


def test_the_other_editor_waits_until_the_agent_has_seen_the_function() -> None:
    ears = Ears(lambda who, what: None)
    for content, read in (("nothing yet", False), (ground.FIRST, True)):
        body = {"messages": [{"role": "tool", "content": content}]}
        request = Request(route="openai/gpt-5", placement="seed", body=body)
        ears.look(Answered(1, route("openai/gpt-5"), request))
        assert ears.read.is_set() is read


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, None),
        ({"OPENAI_API_KEY": "k"}, "openai/gpt-5"),
        ({"OPENAI_API_KEY": "k", "TIDINGS_DEMO_MODEL": "scripted"}, None),
        ({"TIDINGS_DEMO_MODEL": "openai-compatible/x"}, "openai-compatible/x"),
        ({"ANTHROPIC_API_KEY": ""}, None),
    ],
)
def test_a_key_in_the_environment_brings_a_real_model(
    environ: dict[str, str], expected: str | None
) -> None:
    assert chosen_model(environ) == expected


def test_the_ground_is_a_repository_with_a_config_that_its_reader_takes(tmp_path: Path) -> None:
    from tidings.hub.workspace.reading import read_file

    folder = ground.make(tmp_path)
    file = read_file(folder)
    assert file is not None
    assert file.config.watch.files is not None
    assert (folder / ".git").is_dir()
    ground.other_editor(folder)
    assert ground.BROKEN in (folder / ground.SOURCE).read_text()
