"""Signing in from a browser: the cookie, where it stands for the token, and what gets neither."""

from __future__ import annotations

import hashlib
import hmac
from pathlib import Path

import pytest

from tests.hub.running import Client
from tests.hub.test_http import play
from tidings.hub import login
from tidings.hub.login import Budget

NOBODY: dict[str, str | None] = {"Authorization": None}


def cookie_of(client: Client) -> str:
    return hmac.new(client.token.encode(), b"panel", hashlib.sha256).hexdigest()


def own(client: Client) -> str:
    return f"http://127.0.0.1:{client.port}"


async def status_of(client: Client, verb: str, path: str, **headers: str) -> int:
    body = {"id": "r1", "body": "red", "to": {"all": True}} if verb == "POST" else None
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return (await client.ask(verb, path, body, headers={**NOBODY, **sent})).status


def test_the_token_gives_a_cookie_and_signing_out_takes_it_back(tmp_path: Path) -> None:
    async def scene(client: Client) -> None:
        answer = await client.ask("POST", "/v1/login")
        assert (answer.status, answer.body) == (204, None)
        assert answer.headers["set-cookie"] == (
            f"tidings={cookie_of(client)}; HttpOnly; SameSite=Strict; Path=/"
        )
        assert client.token not in str(answer.headers)
        gone = await client.ask("POST", "/v1/logout")
        assert (gone.status, gone.headers["set-cookie"]) == (
            204, "tidings=; Max-Age=0; HttpOnly; SameSite=Strict; Path=/",
        )  # fmt: skip

    play(tmp_path, scene)


def test_the_cookie_reads_and_writes_only_from_the_hubs_own_page(tmp_path: Path) -> None:
    async def scene(client: Client) -> None:
        cookie = f"a=b; tidings={cookie_of(client)}; c=d"
        told = {
            "reads": await status_of(client, "GET", "/v1/status", Cookie=cookie),
            "reads from its page": await status_of(
                client, "GET", "/v1/status", Cookie=cookie, Sec_Fetch_Site="same-origin"
            ),
            "reads from a page on another port": await status_of(
                client, "GET", "/v1/status", Cookie=cookie, Sec_Fetch_Site="same-site"
            ),
            "writes without an origin": await status_of(client, "POST", "/v1/reminders", Cookie=cookie),
            "writes from its page": await status_of(
                client, "POST", "/v1/reminders", Cookie=cookie, Origin=own(client)
            ),
            "writes from elsewhere": await status_of(
                client, "POST", "/v1/reminders", Cookie=cookie, Origin="http://evil.example"
            ),
            "writes from a page on another port": await status_of(
                client, "POST", "/v1/reminders", Cookie=cookie, Origin="http://127.0.0.1:1"
            ),
            "a wrong cookie": await status_of(client, "GET", "/v1/status", Cookie="tidings=00"),
            "the token as the cookie": await status_of(
                client, "GET", "/v1/status", Cookie=f"tidings={client.token}"
            ),
            "a wrong token beside it": await status_of(
                client, "GET", "/v1/status", Cookie=cookie, Authorization="Bearer no"
            ),
            "the cookie as the token": await status_of(
                client, "GET", "/v1/status", Authorization=f"Bearer {cookie_of(client)}"
            ),
        }
        assert told == {
            "reads": 200,
            "reads from its page": 200,
            "reads from a page on another port": 401,
            "writes without an origin": 401,
            "writes from its page": 200,
            "writes from elsewhere": 403,
            "writes from a page on another port": 403,
            "a wrong cookie": 401,
            "the token as the cookie": 401,
            "a wrong token beside it": 401,
            "the cookie as the token": 401,
        }

    play(tmp_path, scene)


def test_the_page_is_open_and_nothing_beside_it(tmp_path: Path) -> None:
    async def scene(client: Client) -> None:
        expected = {
            "/panel/none.js": 404, "/panel": 401, "/panelx": 401, "/panel/../v1/status": 404,
            "/panel/%2e%2e/%2e%2e/service.py": 404, "/panel//v1/status": 404, "//v1/status": 401,
        }  # fmt: skip
        assert {path: await status_of(client, "GET", path) for path in expected} == expected
        assert await status_of(client, "POST", "/") == 401

    play(tmp_path, scene)


def test_wrong_tokens_are_answered_so_often_and_the_right_one_always(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(login, "WRONG_MOST", 3)
    monkeypatch.setattr(login, "WRONG_PER_SECOND", 0.0)

    async def scene(client: Client) -> None:
        wrong = [
            f"Bearer {text}" for text in ("x", "y" * 5_000, client.token[:-1], client.token + "x", "\xff")
        ]
        tried = [await status_of(client, "POST", "/v1/login", Authorization=each) for each in wrong]
        assert tried == [401, 401, 401, 429, 429]
        assert await status_of(client, "GET", "/v1/status") == 401
        assert (await client.ask("POST", "/v1/login")).status == 204

    play(tmp_path, scene)


def test_a_budget_comes_back_with_time() -> None:
    now = [0.0]
    budget = Budget(2, 0.5, lambda: now[0])
    assert [budget.take() for _ in range(3)] == [True, True, False]
    now[0] = 2.0
    assert [budget.take() for _ in range(2)] == [True, False]
    now[0] = 100.0
    assert [budget.take() for _ in range(3)] == [True, True, False]
