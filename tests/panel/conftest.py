"""Hubs and browsers for the panel's tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.panel.hubs import HubProcess
from tests.panel.stage import Stage, Visitor, missing

STAGE = Stage()
HERE = Path(__file__).parent


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """End the browser with the last test of this folder: its event loop is in the way of others."""
    if nextitem is None or HERE not in nextitem.path.parents:
        STAGE.close()


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    """A hub that the tests of a module share; each uses sessions of its own."""
    with HubProcess(tmp_path_factory.mktemp("hub")) as running:
        yield running


@pytest.fixture
def own_hub(tmp_path: Path) -> Iterator[HubProcess]:
    """A hub of one test, which may stop it."""
    with HubProcess(tmp_path) as running:
        yield running


@pytest.fixture
def visit() -> Iterator[Callable[..., Visitor]]:
    """Makes visitors of a hub; what went wrong on their pages fails the test."""
    reason = missing()
    if reason is not None:
        pytest.skip(f"NO BROWSER: {reason}")
    visitors: list[Visitor] = []

    def make(hub: HubProcess, **options: object) -> Visitor:
        visitors.append(Visitor(STAGE, hub, **options))
        return visitors[-1]

    yield make
    for one in visitors:
        one.close()


@pytest.fixture
def visitor(visit: Callable[..., Visitor], hub: HubProcess) -> Visitor:
    return visit(hub)
