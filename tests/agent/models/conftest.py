"""Clients that start quickly, and a look behind: asyncio has no complaint after any test."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import certifi
import pytest

END = "-----END CERTIFICATE-----\n"


@pytest.fixture(autouse=True, scope="module")
def _one_certificate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Every client of an SDK reads all certificates, though no test uses TLS: here there is one."""
    path = tmp_path_factory.mktemp("certificates") / "one.pem"
    path.write_text(Path(certifi.where()).read_text().partition(END)[0] + END)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", str(path))
        yield


@pytest.fixture(autouse=True)
def _asyncio_is_silent(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    yield
    complaints = [
        record.getMessage()
        for record in caplog.get_records("call")
        if record.name == "asyncio" and record.levelno >= logging.WARNING
    ]
    assert complaints == []
