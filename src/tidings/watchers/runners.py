"""How to run a project's tests so that we can read the result: the command, its report file, its settings.

A given command is left as it is; pytest is asked for JUnit XML through its environment, because that names
passing tests, too. Without one, the project's own files say which runner it has.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from tidings.agent.providers.review.commands import verifiers_in
from tidings.errors import CallerError

REPORT = "{report}"
"""Stands in an argument for the report file."""

_PYTEST_FILES = ("pytest.ini", "conftest.py", "tox.ini", "pytest.toml", ".pytest.toml")
_JUNIT = "-o junit_family=xunit1 --junitxml="


class Runner(msgspec.Struct, frozen=True):
    """A command for the tests; `junit`: it is asked for JUnit XML through its environment."""

    argv: tuple[str, ...]
    junit: bool = False

    def arguments(self, report: Path) -> list[str]:
        """The command with the report's place filled in."""
        return [word.replace(REPORT, str(report)) for word in self.argv]

    def environment(self, report: Path, given: Mapping[str, str]) -> dict[str, str]:
        """What the command needs to be told to write its report."""
        if not self.junit:
            return {}
        before = given.get("PYTEST_ADDOPTS", "")
        return {"PYTEST_ADDOPTS": f"{before} {_JUNIT}{shlex.quote(str(report))}".strip()}


def runner_of(argv: Sequence[str]) -> Runner:
    """The runner for a given command."""
    ids = {verifier.id for verifier in verifiers_in(shlex.join(argv))}
    own = any(word.startswith(("--junitxml", "--junit-xml")) for word in argv)
    return Runner(tuple(argv), junit=ids == {"pytest"} and not own)


def find_runner(root: Path) -> Runner:
    """The runner that the project in `root` has.

    Raises:
        CallerError: none is found, or several are.
    """
    known = runners_in(root)
    if len(known) == 1:
        return next(iter(known.values()))
    what = f"several test runners ({', '.join(known)})" if known else "no test runner that is known"
    raise CallerError(f"{str(root)!r} has {what}; give the command, such as: pytest -q")


def runners_in(root: Path) -> dict[str, Runner]:
    """Every runner that the project in `root` has, by its name."""
    found = {
        "go": _go(root),
        "cargo": _cargo(root),
        **_javascript(root),
        "pytest": _pytest(root),
    }
    return {name: runner for name, runner in found.items() if runner is not None}


def _go(root: Path) -> Runner | None:
    return Runner(("go", "test", "-json", "./...")) if (root / "go.mod").is_file() else None


def _cargo(root: Path) -> Runner | None:
    return Runner(("cargo", "test", "--no-fail-fast")) if (root / "Cargo.toml").is_file() else None


def _pytest(root: Path) -> Runner | None:
    if not _has_pytest(root):
        return None
    own = root / ".venv" / "bin" / "pytest"
    return Runner((str(own) if own.is_file() else "pytest", "-q"), junit=True)


def _has_pytest(root: Path) -> bool:
    if any((root / name).is_file() for name in _PYTEST_FILES):
        return True
    project = root / "pyproject.toml"
    if project.is_file() and "pytest" in project.read_text(errors="replace"):
        return True
    places = (root, root / "tests", root / "test")
    return any(next(place.glob("test_*.py"), None) is not None for place in places if place.is_dir())


def _javascript(root: Path) -> dict[str, Runner]:
    try:
        package = msgspec.json.decode((root / "package.json").read_bytes())
    except (OSError, msgspec.DecodeError):
        return {}
    parts = (
        [package.get(key) for key in ("dependencies", "devDependencies")]
        if isinstance(package, dict)
        else []
    )
    needed = {name for part in parts if isinstance(part, dict) for name in part}
    if "vitest" in needed:
        argv = ("npx", "--no-install", "vitest", "run", "--reporter=json", f"--outputFile={REPORT}")
        return {"vitest": Runner(argv)}
    if "jest" in needed:
        return {"jest": Runner(("npx", "--no-install", "jest", "--json", f"--outputFile={REPORT}"))}
    return {}
