"""Secrets stay at home."""

from __future__ import annotations

import pytest

from tidings.mcp.conversation.masking import MARK, mask

SECRETS = [
    "ghp_" + "a1B2" * 9,
    "github_pat_" + "a1B2c3" * 6,
    "glpat-" + "abcd1234" * 3,
    "sk-ant-" + "api03-abcdef" * 4,
    "sk_live_" + "4eC39HqLyjWD",
    "AKIA" + "IOSFODNN7EXAMPLE",
    "xoxb-" + "123456789012-abcdef",
    "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxIn0" + ".c2lnbmF0dXJl",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nabc\n-----END RSA PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\nMIIEow that was cut off",
]


@pytest.mark.parametrize("secret", SECRETS)
def test_a_secret_of_a_known_shape_is_withheld(secret: str) -> None:
    assert mask(f"use {secret}") == f"use {MARK}"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("postgres://me:hunter2@db/shop", f"postgres://me:{MARK}@db/shop"),
        ("curl -H 'Authorization: Bearer abcdef123456789'", f"curl -H 'Authorization: Bearer {MARK}'"),
        ("DB_PASSWORD=tr0ub4dor&3", f"DB_PASSWORD={MARK}"),
        ('"api_key": "9f8e7d6c5b"', f'"api_key": "{MARK}"'),
        ("the password is hunter2!", f"the password is {MARK}"),
    ],
)
def test_what_is_given_to_a_telling_name_is_withheld(text: str, kept: str) -> None:
    assert mask(text) == kept


@pytest.mark.parametrize(
    "text",
    [
        "what did we decide about the database schema?",
        "the token is expired, refresh the page",
        "see https://example.com:8080/path and commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
        "password: required",
        "sk-learn and risk-free",
    ],
)
def test_ordinary_words_pass(text: str) -> None:
    assert mask(text) == text


def test_known_values_are_withheld_wherever_they_stand() -> None:
    assert mask("it is correcthorse, yes", known=["correcthorse", "it"]) == f"it is {MARK}, yes"
