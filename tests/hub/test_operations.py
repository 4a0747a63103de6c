"""The table of operations: whatever is sent, the answer has its documented shape or is a refusal."""

from __future__ import annotations

import asyncio

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.hub.desks import Clock, memory_hub
from tidings.bridge.rpc import INTERNAL_ERROR, SERVER_BUSY, UNKNOWN_SESSION, RpcError
from tidings.core.reminder import Payload
from tidings.errors import LogUnavailableError
from tidings.hub.failure import HubFullError, UnknownSessionError
from tidings.hub.operations import BY_METHOD, OPERATIONS, Operation, operate, refused

NAMES = sorted(
    {name for each in OPERATIONS for name in each.asked.__struct_encode_fields__} | {"_meta", "x"}
)
USEFUL = st.sampled_from(
    ["s", "/", "/\0", " ", {"session": "s"}, {"all": True}, {"workspace": "/\0"}, {"tag": ""}, ["s"], 5]
)
VALUES = USEFUL | st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
SENT = st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=4).map(
    lambda params: {**params, "waitSeconds": 0} if "waitSeconds" in params else params
)


@given(st.lists(st.tuples(st.sampled_from(OPERATIONS), SENT, st.booleans()), max_size=12))
def test_whatever_is_sent_is_answered_in_shape_or_refused(
    calls: list[tuple[Operation, Payload, bool]],
) -> None:
    async def scene() -> None:
        hub, codes = memory_hub(Clock()), set[int]()
        for operation, params, helped in calls:
            sent = {**params, "body": "x", "to": {"session": "s"}} if helped else params
            try:
                answer = await operate(hub, operation, sent if operation.raw else params)
            except RpcError as error:
                codes.add(error.code)
                continue
            msgspec.convert(answer, operation.answered)
        assert INTERNAL_ERROR not in codes
        assert sum(hub.board.counts().values()) == len(hub.board.open) + len(hub.board.finished)

    asyncio.run(scene())


def test_every_operation_says_what_it_does_and_has_one_name() -> None:
    assert all(each.summary.endswith((".", "?")) for each in OPERATIONS)
    assert len({(each.verb, each.path) for each in OPERATIONS}) == len(BY_METHOD) == len(OPERATIONS)


@pytest.mark.parametrize(
    ("error", "code", "data"),
    [
        (HubFullError("full"), SERVER_BUSY, {"reason": "hub_full"}),
        (UnknownSessionError("s"), UNKNOWN_SESSION, {"sessionId": "s"}),
        (LogUnavailableError("closed"), INTERNAL_ERROR, {"reason": "log_unavailable"}),
    ],
)
def test_each_error_of_the_hub_has_its_code(
    error: HubFullError | UnknownSessionError | LogUnavailableError, code: int, data: Payload
) -> None:
    told = refused(error)
    assert (told.code, told.data) == (code, data)
