"""The tutorial "your agent hears the tests turn green", followed to the letter with real processes."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("watchfiles", reason="the tutorial's watcher needs watchfiles (extra watch)")

PAGE = Path(__file__).parents[2] / "docs" / "tutorial" / "tests-turn-green.md"
DEADLINE = 120
RUN = "from tidings.cli.start import run; run()"

_BLOCK = re.compile(r"^```(?:python no-run|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks() -> list[str]:
    """The files of the page and what it prints, in order."""
    return _BLOCK.findall(PAGE.read_text())


@contextmanager
def hub(folder: Path, environ: dict[str, str]) -> Iterator[None]:
    """`tidings up` in the foreground, until Ctrl-C."""
    command = [sys.executable, "-c", RUN, "up", "--port", "0", "--json"]
    process = subprocess.Popen(command, cwd=folder, env=environ, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        assert [one["name"] for one in told["workspace"]["watchers"]] == ["files", "tests"]
        yield
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=DEADLINE)
    assert process.returncode == 0


def test_the_tutorial_ends_with_the_line_in_the_request(tmp_path: Path) -> None:
    source, test, agent, mended, printed = blocks()
    folder = tmp_path / "greeter"
    folder.mkdir()
    environ = {
        **os.environ,
        "TIDINGS_HOME": str(tmp_path / "home"),
        "XDG_RUNTIME_DIR": str(tmp_path),
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    (folder / "greeting.py").write_text(source)
    (folder / "test_greeting.py").write_text(test)
    subprocess.run(
        [sys.executable, "-c", RUN, "init"], cwd=folder, env=environ, check=True, timeout=DEADLINE
    )
    told = agent.replace(
        '    return call("look_around")', '    show(request)\n    return call("look_around")'
    )
    (folder / "agent.py").write_text(SHOW + told)
    with hub(folder, environ):
        process = subprocess.Popen(
            [sys.executable, "agent.py"], cwd=folder, env=environ, stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        assert "red" in process.stdout.readline()
        (folder / "greeting.py").write_text(mended)
        out, _ = process.communicate(timeout=DEADLINE)
    assert (process.returncode, out) == (0, printed)


SHOW = """\
shown = []


def show(request):
    if "1 test fails" in str(request) and not shown:
        shown.append(request)
        print("red", flush=True)


"""
