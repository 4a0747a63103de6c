"""The OpenAPI document says what the hub does: requests made from it get answers that it allows.

schemathesis makes the requests, right ones and wrong ones; the hub is a real one over HTTP. The live
stream is left out: it does not end; so is `health`, which nothing can be asked.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.hub.desks import DEADLINE
from tests.hub.running import Client, running
from tidings.hub import shapes
from tidings.hub.openapi import document
from tidings.version import __version__

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed (extra dev)")

from hypothesis import HealthCheck, Phase, given, settings  # noqa: E402 after the check that it is there
from schemathesis.specs.openapi.checks import ignored_auth  # noqa: E402

EXAMPLES = 15
LONGEST_WAIT = 0.05
"""A request may ask the hub to wait for up to a minute; here for a moment."""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A hub in an event loop of its own."""
    ready: list[Client] = []
    up, stop = threading.Event(), threading.Event()

    async def serve(folder: Path) -> None:
        async with running(folder) as client:
            ready.append(client)
            up.set()
            await asyncio.to_thread(stop.wait)

    thread = threading.Thread(target=asyncio.run, args=(serve(tmp_path_factory.mktemp("hub")),))
    thread.start()
    try:
        assert up.wait(DEADLINE)
        yield ready[0]
    finally:
        stop.set()
        thread.join(DEADLINE)


DOCUMENT = schemathesis.openapi.from_dict(document(__version__))


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else -1.0


def _plain(value: object) -> Any:
    """The same with 1.0 as 1: JSON Schema takes both for an integer, and no program writes the first."""
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


OPERATIONS = [
    (path, verb)
    for path, verbs in document(__version__)["paths"].items()  # type: ignore[attr-defined]
    for verb in verbs
    if path not in ("/v1/records", "/v1/health")
]


@pytest.mark.parametrize("mode", list(schemathesis.GenerationMode), ids=str)
@pytest.mark.parametrize(("path", "verb"), OPERATIONS)
def test_every_operation_answers_as_the_document_says(
    path: str, verb: str, mode: object, client: Client
) -> None:
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        phases=(Phase.explicit, Phase.generate),
        suppress_health_check=list(HealthCheck),
    )
    @given(case=DOCUMENT[path][verb].as_strategy(generation_mode=mode))
    def ask(case: Any) -> None:
        case.body = _plain(case.body)
        if (
            isinstance(case.body, dict)
            and 0 <= _number(case.body.get("waitSeconds")) <= shapes.LONGEST_WAIT
        ):
            case.body["waitSeconds"] = min(_number(case.body["waitSeconds"]), LONGEST_WAIT)
        case.call_and_validate(
            base_url=f"http://127.0.0.1:{client.port}",
            headers={"Authorization": f"Bearer {client.token}"},
            timeout=DEADLINE,
            excluded_checks=[ignored_auth],
        )

    ask()
