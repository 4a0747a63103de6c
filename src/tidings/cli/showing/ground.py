"""The demo's workspace: a folder under git with a function, a test that fails, and a `tidings.toml`.

`other_editor` is somebody else who works in it: what they write is a real change of a real file.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import msgspec

SOURCE = "greeting.py"
TEST = "test_greeting.py"
CONFIG = "tidings.toml"

FIRST = '''\
"""How we greet."""


def greet(name):
    return "Hello " + name
'''
FIRST_LINE = "def greet(name):"
CHANGED = '''\
"""How we greet."""


def greet(name, mark="!"):
    return "Hello " + name + mark
'''
BROKEN, MENDED = '"Hello " + name + mark', 'f"Hello, {name}{mark}"'

_CASE = """\
import unittest

from greeting import greet


class Greeting(unittest.TestCase):
    def test_greets_politely(self):
        self.assertEqual(greet("Ada"), "Hello, Ada!")
"""
_GIT_SECONDS = 30


def make(where: Path) -> Path:
    """Fill an empty folder, under git where there is git, and give its path without links."""
    folder = where.resolve()
    (folder / SOURCE).write_text(FIRST)
    (folder / TEST).write_text(_CASE)
    (folder / CONFIG).write_text(_config())
    (folder / ".gitignore").write_text("__pycache__/\n.pytest_cache/\n")
    if git := shutil.which("git"):
        _git(git, folder, "init", "--quiet")
        _git(git, folder, "add", ".")
        who = ("-c", "user.name=Tidings", "-c", "user.email=demo@localhost", "-c", "commit.gpgsign=false")
        _git(git, folder, *who, "commit", "--quiet", "--message", "Greet")
    return folder


def other_editor(folder: Path) -> None:
    """Somebody else changes the function."""
    (folder / SOURCE).write_text(CHANGED)


def has_pytest() -> bool:
    """Whether the tests can be watched one by one; otherwise their command is."""
    return find_spec("pytest") is not None


def _config() -> str:
    """Which watchers there are: pytest's own report where it can be had, else the exit code of unittest."""
    files = '[watch.files]\nonly = ["*.py"]\n'
    if has_pytest():
        command = [sys.executable, "-B", "-m", "pytest", "-p", "no:cacheprovider"]
        return f'{files}\n[watch.tests]\ncommand = {_toml(command)}\nonly = ["*.py"]\n'
    command = [sys.executable, "-B", "-m", "unittest"]
    return f'{files}\n[watch.commands.tests]\ncommand = {_toml(command)}\nonly = ["*.py"]\n'


def _toml(words: list[str]) -> str:
    return msgspec.json.encode(words).decode()


def _git(git: str, folder: Path, *words: str) -> None:
    subprocess.run([git, "-C", str(folder), *words], check=True, timeout=_GIT_SECONDS, capture_output=True)
