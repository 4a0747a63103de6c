"""The stage of each host; a host whose package is not there skips its tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.interop.agents import Room
from tests.interop.conftest import need
from tests.interop.hosts.clis import CLIS, Side
from tests.interop.hosts.stage import Stage
from tidings.testing.fake_provider import FakeProvider


@pytest.fixture(params=CLIS)
def stage(request: pytest.FixtureRequest) -> Iterator[Stage]:
    cli = CLIS[request.param]
    need(cli.package)
    side = Side()
    with TemporaryDirectory(prefix="host-") as folder, FakeProvider(aside=side) as provider:
        yield Stage(cli, Room(Path(folder), f"{folder}/door"), provider, side)
        assert provider.refused == []
