"""A stream's queue: bounded, in order, newest per key, and every loss is counted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.errors import CallerError
from tidings.mcp.queue import Pushed, Queue

PUSHES = st.lists(st.none() | st.sampled_from("abc"), max_size=40)


def test_frames_leave_in_the_order_they_came() -> None:
    queue: Queue[int] = Queue()
    for number in range(3):
        queue.push(number)
    assert [queue.pop(), queue.pop(), queue.pop(), queue.pop()] == [0, 1, 2, None]


def test_a_newer_frame_takes_the_place_of_one_with_its_key_at_the_end() -> None:
    queue: Queue[str] = Queue()
    queue.push("red", "build")
    queue.push("changed")
    assert queue.push("green", "build") == Pushed(replaced="red")
    assert queue.take() == ["changed", "green"]
    assert queue.replaced == 1


def test_a_full_queue_drops_the_oldest_and_says_so() -> None:
    queue: Queue[int] = Queue(capacity=2)
    queue.push(1)
    queue.push(2)
    assert queue.push(3) == Pushed(dropped=1)
    assert (queue.take(), queue.dropped) == ([2, 3], 1)


def test_replacing_in_a_full_queue_drops_nothing() -> None:
    queue: Queue[int] = Queue(capacity=2)
    queue.push(1, "a")
    queue.push(2)
    assert queue.push(3, "a") == Pushed(replaced=1)
    assert queue.take() == [2, 3]


def test_a_key_is_never_taken_for_a_number() -> None:
    queue: Queue[str] = Queue()
    queue.push("plain")
    queue.push("keyed", "1")
    assert queue.take() == ["plain", "keyed"]


def test_a_queue_holds_at_least_one() -> None:
    with pytest.raises(CallerError, match="`capacity` must be 1 or more; got 0"):
        Queue[int](capacity=0)


@given(PUSHES, st.integers(1, 5))
def test_everything_pushed_is_waiting_replaced_or_dropped(keys: list[str | None], capacity: int) -> None:
    queue: Queue[int] = Queue(capacity)
    for number, key in enumerate(keys):
        queue.push(number, key)
        assert len(queue) <= capacity
    waiting = queue.take()
    assert len(keys) == len(waiting) + queue.replaced + queue.dropped
    assert waiting == sorted(waiting)
