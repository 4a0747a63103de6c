"""Installs the packages of `package.json` and `PYTHON` by name, each into its own folder in `.interop/`.

A package that cannot be had keeps its reason, which the tests that need it are skipped with. npm runs with
a private HOME and cache and reads only the user's npm settings. Called by `make interop`; what is there in
the wanted version is left alone. `make conformance` has the suite installed the same way.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Collection, Mapping
from pathlib import Path

import msgspec

ROOT = Path(__file__).parent.parent.parent
FOLDER = ROOT / ".interop"
STATE = FOLDER / "state.json"
PYTHON = {"claude-agent-sdk": "0.2.182"}
"""The packages for Python; what they need in turn is there for development already."""
DEADLINE = 400.0
"""Seconds that installing one package may take."""

FLAGS = (
    "--no-package-lock",
    "--no-audit",
    "--no-fund",
    "--loglevel=error",
    "--fetch-retries=1",
    "--fetch-retry-mintimeout=1000",
    "--fetch-retry-maxtimeout=5000",
)


class Package(msgspec.Struct, frozen=True, kw_only=True):
    """A package, and whether it is there: `problem` says why not."""

    name: str
    version: str
    seconds: float = 0.0
    problem: str | None = None

    @property
    def folder(self) -> Path:
        """Its own folder."""
        return FOLDER / "packages" / self.name.replace("@", "").replace("/", "-")

    @property
    def path(self) -> Path:
        """The package itself."""
        if self.name in PYTHON:
            return self.folder / self.name.replace("-", "_")
        return self.folder / "node_modules" / self.name


def wanted() -> dict[str, Package]:
    """The packages of `package.json`, and those for Python."""
    told = msgspec.json.decode((Path(__file__).parent / "package.json").read_bytes())
    versions = {**told["dependencies"], **PYTHON}
    return {name: Package(name=name, version=version) for name, version in versions.items()}


def installed() -> dict[str, Package]:
    """What the last installation gave; a package that was never tried has a problem too."""
    never = {name: _failed(each, "`make interop` has not installed it") for name, each in wanted().items()}
    if not STATE.exists():
        return never
    known = msgspec.json.decode(STATE.read_bytes(), type=dict[str, Package])
    current = {name: known[name] for name, each in wanted().items() if _is(known.get(name), each)}
    return {**never, **current}


def _is(known: Package | None, wanted: Package) -> bool:
    return known is not None and known.version == wanted.version


def install_all(only: Collection[str] | None = None) -> dict[str, Package]:
    """Install what is missing, of all packages or of some; tells on stdout how it went."""
    FOLDER.mkdir(exist_ok=True)
    state = installed()
    for name, package in wanted().items():
        if only is not None and name not in only:
            continue
        if state[name].problem is not None or not package.path.exists():
            state[name] = install(package)
        print(_line(state[name]), flush=True)
        STATE.write_bytes(msgspec.json.format(msgspec.json.encode(state)) + b"\n")
    shutil.rmtree(FOLDER / "npm", ignore_errors=True)
    return state


def install(package: Package) -> Package:
    """`package` with what installing it gave."""
    shutil.rmtree(package.folder, ignore_errors=True)
    package.folder.mkdir(parents=True)
    if package.name in PYTHON:
        return _installed(package, "pip", _pip(package), os.environ)
    npm = shutil.which("npm")
    if npm is None:
        return _failed(package, "npm is not on the PATH")
    (package.folder / "package.json").write_text('{"private": true}\n')
    command = [npm, "install", *FLAGS, "--prefix", str(package.folder), f"{package.name}@{package.version}"]
    return _installed(package, "npm", command, _environment(npm))


def _pip(package: Package) -> list[str]:
    quiet = ["--quiet", "--disable-pip-version-check", "--no-cache-dir", "--no-deps"]
    target = ["--target", str(package.folder), f"{package.name}=={package.version}"]
    return [sys.executable, "-m", "pip", "install", *quiet, *target]


def _installed(package: Package, tool: str, command: list[str], environ: Mapping[str, str]) -> Package:
    began = time.monotonic()
    try:
        done = subprocess.run(
            command, env=environ, cwd=package.folder, capture_output=True, text=True, timeout=DEADLINE
        )
    except subprocess.TimeoutExpired:
        return _failed(package, f"{tool} did not finish within {DEADLINE:g} s")
    if done.returncode != 0 or not package.path.exists():
        return _failed(package, f"{tool} exited {done.returncode}: {_reason(tool, done.stderr)}")
    return msgspec.structs.replace(package, seconds=round(time.monotonic() - began, 1))


def _environment(npm: str) -> dict[str, str]:
    """The caller's, with HOME and cache inside our folder; npm still reads the user's settings."""
    asked = subprocess.run([npm, "config", "get", "userconfig"], capture_output=True, text=True, timeout=60)
    home = FOLDER / "npm"
    home.mkdir(exist_ok=True)
    private = {"HOME": str(home), "NPM_CONFIG_CACHE": str(home / "cache")}
    return {**os.environ, **private, "NPM_CONFIG_USERCONFIG": asked.stdout.strip()}


def _reason(tool: str, stderr: str) -> str:
    """What the tool says first, without the addresses it tried."""
    mark = {"npm": "npm error", "pip": "ERROR:"}[tool]
    lines = [line.removeprefix(mark).strip() for line in stderr.splitlines() if line.startswith(mark)]
    return re.sub(r"\w+://\S+", "…", " · ".join(lines[:3])) or "it did not say why"


def _failed(package: Package, problem: str) -> Package:
    return msgspec.structs.replace(package, problem=problem)


def _line(package: Package) -> str:
    told = "ready" if package.problem is None else f"NOT AVAILABLE: {package.problem}"
    return f"{package.name}@{package.version}: {told}"
