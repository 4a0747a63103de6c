"""The reference page of the hub names what there is: requests, records, states, statuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidings.hub import board, envelope, feed, retention
from tidings.hub.openapi import STATUSES
from tidings.hub.operations import OPERATIONS, Operation

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "hub.md").read_text()
KINDS = (
    board.REGISTERED, board.LEFT, envelope.ACCEPTED, envelope.ADDRESSED, envelope.LEASED, envelope.RETURNED,
    envelope.ACKNOWLEDGED, envelope.EXPIRED, envelope.REVOKED, feed.DROPPED, retention.PURGED,
)  # fmt: skip


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.name)
def test_every_request_stands_on_the_page(operation: Operation) -> None:
    assert f"| `{operation.verb} {operation.path}` | `{operation.method}` |" in PAGE


@pytest.mark.parametrize("name", [*KINDS, *envelope.STATES])
def test_every_record_and_state_stands_on_the_page(name: str) -> None:
    assert f"| `{name}` |" in PAGE


def test_every_status_stands_on_the_page() -> None:
    assert [status for status in STATUSES if str(status) not in PAGE] == []
