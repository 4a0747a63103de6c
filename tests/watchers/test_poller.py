"""The poller against a real HTTP server on loopback."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tidings.errors import CallerError
from tidings.watchers.reviews.fetching import FetchError, asked_wait, fetch
from tidings.watchers.reviews.items import shape
from tidings.watchers.reviews.poller import LONGEST_WAIT, PollWatcher, wait_after
from tidings.watchers.told import Noticed, Told

ONE = [{"id": 1, "title": "Build", "state": "green"}]
TWO = [{"id": 1, "title": "Build", "state": "red"}]


@contextmanager
def endpoint(*answers: tuple[int, Any, dict[str, str]]) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """A server that gives these answers, then the last again and again; and the headers it was sent."""
    heard: list[dict[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, document, headers = answers[min(len(heard), len(answers) - 1)]
            heard.append({name.lower(): value for name, value in self.headers.items()})
            body = document if isinstance(document, bytes) else json.dumps(document).encode()
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/runs", heard
        finally:
            server.shutdown()
            thread.join(30)


def poll(url: str, news: int, **more: Any) -> tuple[list[Any], list[float]]:
    """So many pieces of news, and the pauses on the way."""
    pauses: list[float] = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)

    async def play() -> list[Any]:
        watcher = PollWatcher(url, sleep=pause, name="ci", **more)
        found = []
        async with asyncio.timeout(60):
            async for one in watcher.watch():
                found.append(one)
                if len(found) == news:
                    return found
        raise AssertionError

    return asyncio.run(play()), pauses


def test_the_first_look_is_silent_and_later_turns_are_told() -> None:
    with endpoint((200, ONE, {}), (200, TWO, {})) as (url, _):
        news, pauses = poll(url, 1, interval=30)
    assert [one.body for one in news] == ['1 "Build" is now red; it was green.']
    assert pauses == [30]


def test_an_unchanged_document_is_asked_for_by_etag_and_not_read_again() -> None:
    tagged = {"ETag": '"v1"'}
    with endpoint((200, ONE, tagged), (304, b"", {}), (200, TWO, {"ETag": '"v2"'})) as (url, heard):
        news, _ = poll(url, 1)
    assert isinstance(news[0], Told)
    assert [one.get("if-none-match") for one in heard] == [None, '"v1"', '"v1"']


def test_a_failing_endpoint_is_asked_less_and_less_and_recorded_not_told() -> None:
    bad = (503, b"", {"Retry-After": "7"})
    with endpoint((200, ONE, {}), bad, (500, b"", {}), (200, b"{", {}), (200, TWO, {})) as (url, _):
        news, pauses = poll(url, 4, interval=2)
    assert news[:3] == [
        Noticed("poll_failed", "the server answered 503", {"count": 1}),
        Noticed("poll_failed", "the server answered 500", {"count": 2}),
        Noticed("poll_recovered", "the endpoint answers again", {"count": 3}),
    ]
    assert news[3].body == '1 "Build" is now red; it was green.'
    assert pauses == [2, 7, 8, 16]


def test_a_token_is_sent_and_a_redirect_is_not_followed() -> None:
    with endpoint((302, b"", {"Location": "http://127.0.0.1:1/elsewhere"})) as (url, heard):
        news, _ = poll(url, 1, headers={"Authorization": "Bearer t"})
    assert heard[0]["authorization"] == "Bearer t"
    message = "the server answered 302; redirects are not followed: give the address it leads to"
    assert news == [Noticed("poll_failed", message, {"count": 1})]


def test_pointers_say_where_things_stand() -> None:
    first, second = {"data": {"runs": [{"n": 1, "how": "a"}]}}, {"data": {"runs": [{"n": 1, "how": "b"}]}}
    with endpoint((200, first, {}), (200, second, {})) as (url, _):
        news, _ = poll(url, 1, form=shape(items="/data/runs", id="/n", state="/how"))
    assert news[0].body == "1 is now b; it was a."


def test_a_document_that_is_too_large_is_not_read() -> None:
    with (
        endpoint((200, b"[" + b" " * 500_000 + b"]", {})) as (url, _),
        pytest.raises(FetchError, match="more than"),
    ):
        fetch(url, {}, None, largest=100_000)


@contextmanager
def trickling(begin: bytes) -> Iterator[str]:
    """A server that says `begin`, then a byte now and then, and never comes to an end."""
    stop = threading.Event()

    def serve() -> None:
        connection, _ = listening.accept()
        with connection, suppress(OSError):
            connection.recv(65_536)
            connection.sendall(begin)
            while not stop.wait(0.01):
                connection.sendall(b" ")

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/runs"
        finally:
            stop.set()
            thread.join(30)


@pytest.mark.parametrize("begin", [b"", b"HTTP/1.1 200 OK\r\nX-A: ", b"HTTP/1.1 200 OK\r\n\r\n["])
def test_a_server_that_never_comes_to_an_end_is_cut_off_at_the_deadline(begin: bytes) -> None:
    with trickling(begin) as url, pytest.raises(FetchError, match="did not arrive in time"):
        fetch(url, {}, None, deadline=0.3)


def test_a_server_that_is_asked_too_often_says_when_to_come_again() -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=500), usegmt=True)
    busy = [(429, b"", {"Retry-After": "300"}), (429, b"", {"Retry-After": later}), (429, b"", {})]
    with endpoint((200, ONE, {}), *busy, (200, TWO, {})) as (url, _):
        news, pauses = poll(url, 4, interval=2)
    assert news[0] == Noticed("poll_failed", "the server answered 429", {"count": 1})
    assert pauses[:2] == [2, 300]
    assert 400 < pauses[2] <= 500
    assert pauses[3] == 16


@pytest.mark.parametrize("junk", ["soon", "-5", "1e9", "", "Wed, 99 Foo 2026", "٣"])
def test_a_wait_that_cannot_be_read_is_none(junk: str) -> None:
    assert asked_wait(junk, 0.0) is None


@pytest.mark.parametrize(
    "junk", [{"message": "we are down"}, [1, "x", None, {"no": "id"}], "text", 7, None]
)
def test_a_document_without_items_is_a_failure_and_what_was_known_stays(junk: object) -> None:
    with endpoint((200, ONE, {}), (200, junk, {}), (200, ONE, {}), (200, TWO, {})) as (url, _):
        news, _ = poll(url, 3)
    assert news[:2] == [
        Noticed("poll_failed", "there are no items with an id at /; check --items and --id", {"count": 1}),
        Noticed("poll_recovered", "the endpoint answers again", {"count": 1}),
    ]
    assert news[2].body == '1 "Build" is now red; it was green.'


def test_an_empty_list_is_a_list() -> None:
    with endpoint((200, ONE, {}), (200, [], {}), (200, ONE, {})) as (url, _):
        news, _ = poll(url, 1)
    assert news[0].body == 'New: 1 "Build" (green).'


def test_nobody_there_is_a_failure_with_its_reason() -> None:
    with endpoint((200, ONE, {})) as (url, _):
        pass
    with pytest.raises(FetchError, match="no answer: URLError"):
        fetch(url, {}, None, deadline=5)


@pytest.mark.parametrize(
    ("failures", "asked", "expected"),
    [
        (0, None, 60.0),
        (1, None, 120.0),
        (3, None, 480.0),
        (30, None, LONGEST_WAIT),
        (1, 300.0, 300.0),
        (1, 9e9, 3600.0),
    ],
)
def test_the_wait_doubles_with_each_failure_and_heeds_the_server(
    failures: int, asked: float | None, expected: float
) -> None:
    assert wait_after(60.0, failures, asked) == expected


@pytest.mark.parametrize(
    ("url", "headers", "problem"),
    [
        ("ftp://x/y", {}, "must begin with https:// or http://"),
        ("https://u:p@x/y", {}, "holds a user or password"),
        ("http://example.com/y", {"Authorization": "Bearer t"}, "unencrypted; use https"),
    ],
)
def test_addresses_that_would_leak_are_refused(url: str, headers: dict[str, str], problem: str) -> None:
    with pytest.raises(CallerError, match=problem):
        PollWatcher(url, headers=headers)


def test_an_interval_that_is_too_short_is_refused() -> None:
    with pytest.raises(CallerError, match=r"`interval` must be 1 second or more; got 0\.5"):
        PollWatcher("https://example.com", interval=0.5)
