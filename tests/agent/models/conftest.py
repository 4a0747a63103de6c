"""Nothing is left behind: asyncio has no complaint after any test."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _asyncio_is_silent(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    yield
    complaints = [
        record.getMessage()
        for record in caplog.get_records("call")
        if record.name == "asyncio" and record.levelno >= logging.WARNING
    ]
    assert complaints == []
