"""The legs are collected only when `make conformance` asks for them; a whole run leaves `results.json`."""

from __future__ import annotations

import os

import pytest

from tests.conformance.results import LegResults, write
from tests.conformance.verdict import LEGS

ASKED = os.environ.get("TIDINGS_CONFORMANCE") == "1"
collect_ignore_glob = [] if ASKED else ["test_legs.py"]
DONE = pytest.StashKey[list[LegResults]]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[DONE] = []


@pytest.fixture
def done(request: pytest.FixtureRequest) -> list[LegResults]:
    """Where a leg leaves what it gave."""
    return request.config.stash[DONE]


def pytest_sessionfinish(session: pytest.Session) -> None:
    legs = session.config.stash[DONE]
    if ASKED and len(legs) == len(LEGS):
        write(legs)
