"""Interop tests are collected only when `make interop` asks for them, and tell what they skip.

A package that could not be installed skips the tests that need it, with the reason; the end of the run
lists them. The outcomes are written to `results.json`, which docs/reference/interop.md prints.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.interop.agents import AGENTS, Agent, Room, aside
from tests.interop.install import installed
from tests.interop.results import Run
from tidings.testing.fake_provider import FakeProvider

ASKED = os.environ.get("TIDINGS_INTEROP") == "1"
collect_ignore_glob = [] if ASKED else ["test_*.py"]
RUN = pytest.StashKey[Run]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[RUN] = Run()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    report = yield
    if ASKED:
        item.config.stash[RUN].add(item, report)
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    if os.environ.get("TIDINGS_INTEROP_RECORD") == "1":
        session.config.stash[RUN].write()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if ASKED:
        for line in config.stash[RUN].not_run():
            terminalreporter.write_line(f"NOT RUN: {line}", yellow=True)


def need(*packages: str) -> None:
    """Skip the test when one of `packages` is not there."""
    for name in ("node", *packages):
        problem = installed()[name].problem
        if problem is not None:
            pytest.skip(f"{name} is not installed: {problem}")


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    with TemporaryDirectory(prefix="tidings-") as folder:
        yield Room(tmp_path, str(Path(folder) / "door"))


@pytest.fixture
def provider() -> Iterator[FakeProvider]:
    with FakeProvider(aside=aside) as made:
        yield made


@pytest.fixture
def editor() -> None:
    """The npm SDK must be there."""
    need("@agentclientprotocol/sdk")


@pytest.fixture(params=AGENTS)
def agent(request: pytest.FixtureRequest) -> Agent:
    chosen = AGENTS[request.param]
    need("@agentclientprotocol/sdk", chosen.package)
    return chosen
