"""Asking the hub to purge: what would go, what goes, in parts when it takes long, and refusals."""

from __future__ import annotations

import pytest

from tests.hub.desks import Clock, register
from tests.hub.test_retention import S, hub_with, kept, run, tell_each
from tidings.bridge.rpc import INVALID_PARAMS, UNKNOWN_SESSION, RpcError
from tidings.core.reminder import Payload
from tidings.hub import purging
from tidings.hub.operations import BY_METHOD, operate
from tidings.hub.service import Hub
from tidings.hub.store import TOPIC


async def purge(hub: Hub, **params: object) -> Payload:
    return await operate(hub, BY_METHOD["hub/purge"], params)


def test_a_user_may_ask_what_would_go_and_let_it_go() -> None:
    async def scene() -> None:
        clock = Clock()
        hub = hub_with(clock)
        await register(hub, "s")
        await register(hub, "t")
        await tell_each(hub, range(1, 6))
        clock.pass_seconds(100)
        await tell_each(hub, [6])
        await tell_each(hub, [1], "t")
        rows = [
            {"topic": TOPIC, "count": 2, "purgedThrough": 2},
            {"topic": S, "count": 5, "purgedThrough": 5},
        ]
        assert await purge(hub, olderThanSeconds=50, dryRun=True) == {"purged": rows, "more": False}
        assert kept(hub) == [1, 2, 3, 4, 5, 6]
        assert await purge(hub, olderThanSeconds=50, sessionId="s") == {"purged": rows[1:], "more": False}
        assert (kept(hub), hub.store.log.purged_through(TOPIC)) == ([6], 0)
        assert await purge(hub, olderThanSeconds=50, topic=TOPIC) == {"purged": rows[:1], "more": False}
        assert await purge(hub, olderThanSeconds=50) == {"purged": [], "more": False}

    run(scene())


def test_a_purge_that_takes_long_is_answered_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene() -> None:
        clock = Clock()
        hub = hub_with(clock)
        await register(hub, "s")
        await tell_each(hub, range(1, 31))
        clock.pass_seconds(100)
        counts = []
        while True:
            answer = await purge(hub, olderThanSeconds=50, sessionId="s")
            counts.append(answer["purged"][0]["count"])  # type: ignore[index]
            if not answer["more"]:
                break
        assert (counts, kept(hub)) == ([10, 10, 10], [])

    monkeypatch.setattr(purging, "SECONDS", -1.0)
    monkeypatch.setattr(purging, "AT_ONCE", 10)
    run(scene())


@pytest.mark.parametrize(
    ("params", "code", "told"),
    [
        ({}, INVALID_PARAMS, "`olderThanSeconds`|missing required field"),
        ({"olderThanSeconds": -1}, INVALID_PARAMS, "`olderThanSeconds`"),
        ({"olderThanSeconds": 1, "sessionId": "none"}, UNKNOWN_SESSION, "'none' is not registered"),
        ({"olderThanSeconds": 1, "topic": "hub.settled"}, INVALID_PARAMS, "`topic` is 'hub.settled'; give"),
        ({"olderThanSeconds": 1, "topic": "hub", "sessionId": "s"}, INVALID_PARAMS, "give one of them"),
    ],
)  # fmt: skip
def test_a_request_that_cannot_be_done_is_refused(params: Payload, code: int, told: str) -> None:
    async def scene() -> None:
        hub = hub_with(Clock())
        await register(hub, "s")
        with pytest.raises(RpcError, match=told) as raised:
            await purge(hub, **params)
        assert raised.value.code == code

    run(scene())
