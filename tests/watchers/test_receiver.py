"""The webhook receiver over real HTTP."""

from __future__ import annotations

import asyncio
import hmac
import json
from hashlib import sha256
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

from tests.watchers.waiting import Following, following
from tidings.errors import CallerError
from tidings.watchers.reviews import http as http_module
from tidings.watchers.reviews import receiver as receiver_module
from tidings.watchers.reviews.items import shape
from tidings.watchers.reviews.receiver import WebhookWatcher
from tidings.watchers.told import Noticed

SECRET = "a-long-secret"
NOW = 1_700_000_000.0
PAYLOAD = {
    "action": "submitted",
    "review": {"state": "approved", "user": {"login": "ada"}, "submitted_at": "2023-11-14T22:13:00Z"},
    "pull_request": {"number": 7, "title": "Cart"},
    "repository": {"full_name": "burin/shop"},
}
TOLD = 'ada approved pull request #7 "Cart" in burin/shop.'


def watcher(**more: Any) -> WebhookWatcher:
    return WebhookWatcher([SECRET], clock=lambda: NOW, **more)


async def exchange(url: str, data: bytes) -> tuple[int, str]:
    """Send raw bytes; gives the status and the word of the answer."""
    parts = urlsplit(url)
    async with asyncio.timeout(30):
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        try:
            writer.write(data)
            answer = await reader.read()
        finally:
            writer.close()
            await writer.wait_closed()
    head, _, body = answer.removeprefix(b"HTTP/1.1 100 Continue\r\n\r\n").partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)["status"]


async def post(url: str, payload: object = PAYLOAD, **changed: str) -> tuple[int, str]:
    body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    headers = {
        "Host": "localhost",
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        "X-GitHub-Event": "pull_request_review",
        "X-GitHub-Delivery": "d1",
        "X-Hub-Signature-256": "sha256=" + hmac.new(SECRET.encode(), body, sha256).hexdigest(),
    } | {name.replace("_", "-"): value for name, value in changed.items()}
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return await exchange(url, f"POST /webhook HTTP/1.1\r\n{head}\r\n".encode() + body)


def play(steps: Any, **more: Any) -> Any:
    async def run() -> Any:
        server = watcher(**more)
        async with following(server) as followed:
            return await steps(server.url, followed)

    return asyncio.run(run())


def test_a_signed_review_is_told_once_however_often_it_is_delivered() -> None:
    async def steps(url: str, followed: Following) -> Any:
        answers = [await post(url), await post(url), await post(url, X_GitHub_Delivery="d2")]
        return answers, (await followed.next()).body, await followed.next(), followed.news.qsize()

    answers, body, noticed, more = play(steps)
    assert answers == [(202, "accepted"), (200, "repeated"), (409, "webhook_replayed")]
    assert (body, noticed.code, more) == (TOLD, "webhook_replayed", 0)


def test_a_wrong_signature_gets_401_and_a_record_and_nothing_is_told() -> None:
    async def steps(url: str, followed: Following) -> Any:
        answers = [await post(url, X_Hub_Signature_256="sha256=" + "0" * 64) for _ in range(5)]
        after = await post(url)
        return answers, after, [await followed.next() for _ in range(4)], followed.news.qsize()

    answers, after, news, more = play(steps)
    assert answers == [(401, "webhook_wrong_signature")] * 5
    assert after == (202, "accepted")
    message = "the header X-Hub-Signature-256 fits no secret"
    assert news[:3] == [
        Noticed("webhook_wrong_signature", message, {"status": 401, "count": count}) for count in (1, 2, 4)
    ]
    assert (news[3].body, more) == (TOLD, 0)


def test_an_old_event_is_refused_though_its_signature_is_right() -> None:
    async def steps(url: str, followed: Following) -> Any:
        old = {**PAYLOAD, "review": {**PAYLOAD["review"], "submitted_at": "2023-11-14T20:00:00Z"}}  # type: ignore[dict-item]
        return await post(url, old), (await followed.next()).code

    assert play(steps) == ((409, "webhook_stale"), "webhook_stale")


@pytest.mark.parametrize(
    ("payload", "changed", "answer"),
    [
        (b"[]", {}, (400, "webhook_malformed")),
        (b"{", {}, (400, "webhook_malformed")),
        (b"\xff", {}, (400, "webhook_malformed")),
        (b"[" * 100_000, {}, (400, "webhook_malformed")),
        (PAYLOAD, {"Content_Type": "text/plain"}, (415, "webhook_malformed")),
        (PAYLOAD, {"Content_Length": "x"}, (411, "webhook_malformed")),
        (PAYLOAD, {"Content_Length": "1000001"}, (413, "webhook_too_large")),
        (PAYLOAD, {"X_GitHub_Event": "ping"}, (202, "ignored")),
        (PAYLOAD, {"Expect": "100-continue"}, (202, "accepted")),
    ],
)
def test_every_bad_delivery_gets_its_answer(
    payload: object, changed: dict[str, str], answer: object
) -> None:
    async def steps(url: str, _followed: Following) -> Any:
        return await post(url, payload, **changed)

    assert play(steps) == answer


@pytest.mark.parametrize(
    ("data", "answer"),
    [
        (b"GET /webhook HTTP/1.1\r\n\r\n", (405, "webhook_method")),
        (b"POST /other HTTP/1.1\r\n\r\n", (404, "webhook_elsewhere")),
        (b"nonsense\r\n\r\n", (400, "webhook_malformed")),
        (b"POST /webhook HTTP/1.1\r\nA b: c\r\n d: e\r\n\r\n", (400, "webhook_malformed")),
        (b"POST /webhook HTTP/1.1\r\nA: 1\r\na: 2\r\n\r\n", (400, "webhook_malformed")),
        (b"POST /webhook HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", (411, "webhook_malformed")),
        (b"POST /webhook HTTP/1.1\r\nX: " + b"x" * 200_000 + b"\r\n\r\n", (431, "webhook_malformed")),
    ],
)
def test_every_bad_request_gets_its_answer(data: bytes, answer: object) -> None:
    async def steps(url: str, _followed: Following) -> Any:
        return await exchange(url, data)

    assert play(steps) == answer


def test_a_form_with_the_payload_is_read_too() -> None:
    async def steps(url: str, followed: Following) -> Any:
        body = f"payload={quote(json.dumps(PAYLOAD))}".encode()
        answer = await post(url, body, Content_Type="application/x-www-form-urlencoded; charset=utf-8")
        return answer, (await followed.next()).body

    assert play(steps) == ((202, "accepted"), TOLD)


def test_other_repositories_are_ignored_when_some_are_named() -> None:
    async def steps(url: str, followed: Following) -> Any:
        return await post(url), followed.news.qsize()

    assert play(steps, repositories=("burin/other",)) == ((202, "ignored"), 0)


def test_a_sender_that_breaks_off_or_stalls_holds_nobody_up() -> None:
    async def steps(url: str, followed: Following) -> Any:
        parts = urlsplit(url)
        stalled = [await asyncio.open_connection(parts.hostname, parts.port) for _ in range(20)]
        for _, writer in stalled[:10]:
            writer.write(b"POST /webhook HTTP/1.1\r\nContent-Length: 10\r\n\r\nabc")
            writer.write_eof()
        answer = await post(url)
        for _, writer in stalled:
            writer.close()
        news = await followed.next()
        while isinstance(news, Noticed):
            news = await followed.next()
        return answer, news.body

    assert play(steps) == ((202, "accepted"), TOLD)


def test_more_senders_at_a_time_than_are_served_are_asked_to_come_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_module, "MOST_CONNECTIONS", 2)

    async def steps(url: str, followed: Following) -> Any:
        parts = urlsplit(url)
        begun = [await asyncio.open_connection(parts.hostname, parts.port) for _ in range(2)]
        for _, writer in begun:
            writer.write(b"POST /webhook HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n")
        for reader, _ in begun:
            assert await reader.readline() == b"HTTP/1.1 100 Continue\r\n"
        busy = await post(url)
        noticed = await followed.next()
        for reader, writer in begun:
            writer.write_eof()
            await reader.read()
            writer.close()
        return busy, noticed.code, noticed.details, await post(url)

    assert play(steps) == (
        (503, "webhook_busy"),
        "webhook_busy",
        {"status": 503, "count": 1},
        (202, "accepted"),
    )


def test_when_nobody_takes_the_news_the_sender_is_asked_to_come_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(receiver_module, "QUEUED", 1)
    server = watcher()

    def deliver(number: int) -> int:
        changed = json.dumps({**PAYLOAD, "n": number}).encode()
        signature = hmac.new(SECRET.encode(), changed, sha256).hexdigest()
        headers = {
            "x-hub-signature-256": f"sha256={signature}",
            "x-github-delivery": str(number),
            "x-github-event": "pull_request_review",
            "content-type": "application/json",
        }
        try:
            return server.handle(receiver_module.Request("POST", "/webhook", headers, changed)).status
        except receiver_module.Refusal as refusal:
            return refusal.status

    assert [deliver(number) for number in range(3)] == [202, 503, 503]


def test_standard_webhooks_are_read_by_pointers() -> None:
    from base64 import b64encode

    async def steps(url: str, followed: Following) -> Any:
        body = json.dumps({"type": "run", "data": {"n": 4, "title": "Deploy", "how": "failed"}}).encode()
        mac = hmac.new(SECRET.encode(), f"m1.{NOW:.0f}.".encode() + body, sha256).digest()
        signature = {"webhook_id": "m1", "webhook_timestamp": f"{NOW:.0f}"}
        signed = f"v1,{b64encode(mac).decode()}"
        return await post(url, body, webhook_signature=signed, **signature), (await followed.next()).body

    found = play(steps, scheme="standard", form=shape(id="/n", state="/how"))
    assert found == ((202, "accepted"), 'New: 4 "Deploy" (failed).')


def test_settings_that_cannot_be_used_are_refused() -> None:
    with pytest.raises(CallerError, match="`scheme` must be one of github, gitlab, standard; got 'x'"):
        WebhookWatcher([SECRET], scheme="x")  # type: ignore[arg-type]
    with pytest.raises(CallerError, match="`path` must begin with /"):
        WebhookWatcher([SECRET], path="hook")


def test_a_port_that_is_taken_is_named() -> None:
    async def steps(url: str, _followed: Following) -> Any:
        async with following(watcher(port=urlsplit(url).port)):
            pass

    with pytest.raises(CallerError, match=r"cannot listen at 127\.0\.0\.1:\d+: .*; choose another"):
        play(steps)
