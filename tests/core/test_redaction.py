"""Secrets become marks; what only looks like one stays. Every secret here is made up."""

from __future__ import annotations

import random
import string
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.core.redaction import beginning, known_secrets, redact

LETTERS = string.ascii_letters + string.digits


def drawn(length: int, alphabet: str = LETTERS, seed: int = 7) -> str:
    return "".join(random.Random(seed).choices(alphabet, k=length))


HEX = "0123456789abcdef"
GITHUB = "ghp_" + drawn(36)
KEY = "-----BEGIN RSA PRIVATE KEY-----\n" + "\n".join([drawn(64)] * 4) + "\n-----END RSA PRIVATE KEY-----"

HITS = {
    "a GitHub token": (f"remote: {GITHUB} refused", "remote: [redacted token] refused"),
    "a fine-grained GitHub token": (f"x github_pat_{drawn(60)}", "x [redacted token]"),
    "a GitLab token": (f"glpat-{drawn(20)} used", "[redacted token] used"),
    "a Slack token": (f"xoxb-{drawn(24)}", "[redacted token]"),
    "an Anthropic key": (f"key sk-ant-api03-{drawn(80)} is invalid", "key [redacted token] is invalid"),
    "an OpenAI key": (f"Incorrect API key provided: sk-proj-{drawn(40)}.", "[redacted token]."),
    "an AWS key id": ("AKIA" + "IOSFODNN7EXAMPLE", "[redacted token]"),
    "a Google key": (f"AIza{drawn(35)}", "[redacted token]"),
    "a Stripe key": (f"sk_live_{drawn(24)}", "[redacted token]"),
    "an npm token": (f"//registry/:_authToken=npm_{drawn(36)}", "[redacted"),
    "a JSON web token": (f"eyJhbGciOiJI{drawn(8)}.eyJzdWIi{drawn(20)}.{drawn(30)}", "[redacted token]"),
    "a private key": (f"loaded\n{KEY}\ndone", "loaded\n[redacted private key]\ndone"),
    "a private key that was cut": (f"{KEY[:150]}\nok then", "[redacted private key]"),
    "the end of a private key": (f"tail\n{KEY[-150:]}\ndone", "[redacted private key]\ndone"),
    "an authorization header": (
        f"> Authorization: Bearer {drawn(40)}",
        "> Authorization: Bearer [redacted credentials]",
    ),
    "a basic authorization in JSON": (
        '{"authorization": "Basic dXNlcjpwYXNz", "a": 1}',
        '{"authorization": "Basic [redacted credentials]", "a": 1}',
    ),
    "a cookie": ("Set-Cookie: sid=abc123; Path=/", "Set-Cookie: [redacted header]"),
    "a bearer token in a sentence": (
        f"sent bearer {drawn(30)} twice",
        "sent bearer [redacted token] twice",
    ),
    "a password in a URL": (
        "postgres://shop:hunter2@db.example/shop",
        "postgres://shop:[redacted password]@db.example/shop",
    ),
    "a token as the user of a URL": (
        f"https://{drawn(40)}@git.example/a.git",
        "https://[redacted token]@git",
    ),
    "a token in a query": (
        "GET /a?b=1&access_token=abcd1234&c=2",
        "&access_token=[redacted query value]&c=2",
    ),
    "an upper-case assignment": ("DB_PASSWORD=hunter2", "DB_PASSWORD=[redacted value]"),
    "an exported assignment": ("export API_KEY='abc def'", "export API_KEY='[redacted value]'"),
    "a quoted value in code": ('password = "hunter2"', 'password = "[redacted value]"'),
    "a short assignment in a sentence": ("try password=hunter2 here", "try password=[redacted value] here"),
    "a JSON field": ('{"client_secret": "abc"}', '{"client_secret": "[redacted value]"}'),
    "a YAML line": ("api_key: a1b2c3d4e5", "api_key: [redacted value]"),
    "an option": ("curl --api-key s3cr3tvalue x", "curl --api-key [redacted option] x"),
    "a random value without a name": (
        f"using {drawn(44, seed=3)} now",
        "using [redacted random value] now",
    ),
    "an age key": (
        "AGE-SECRET-KEY-1" + drawn(58, string.ascii_uppercase + "0123456789"),
        "[redacted token]",
    ),
    "a Databricks token": (f"dapi{drawn(32, HEX)}", "[redacted token]"),
    "a Mailgun key": (f"key-{drawn(32, HEX)}", "[redacted token]"),
    "a Shopify token": (f"shpat_{drawn(32, HEX)}", "[redacted token]"),
    "a Supabase token": (f"sbp_{drawn(40, HEX)}", "[redacted token]"),
    "a RubyGems key": (f"rubygems_{drawn(48, HEX)}", "[redacted token]"),
    "a Pulumi token": (f"pul-{drawn(40, HEX)}", "[redacted token]"),
    "a Square token": (f"sq0atp-{drawn(22)}", "[redacted token]"),
    "a Vault token": (f"hvs.{drawn(90)}", "[redacted token]"),
    "a Doppler token": (f"dp.pt.{drawn(43)}", "[redacted token]"),
    "an Azure client secret": (f"{drawn(3)}8Q~{drawn(34)}", "[redacted token]"),
    "a Terraform token": (f"{drawn(14)}.atlasv1.{drawn(67)}", "[redacted token]"),
    "a Discord token": (f"M{drawn(25)}.{drawn(6)}.{drawn(38)}", "[redacted token]"),
    "a Discord web hook": (
        f"https://discord.com/api/webhooks/12345/{drawn(68)}",
        "https://discord.com/api/webhooks/[redacted url]",
    ),
    "a Teams web hook": ("https://x.webhook.office.com/webhookb2/a-b@c-d/In/e", "webhookb2/[redacted url]"),
    "a password for curl": (
        "curl -s -u ada:s3cret https://h",
        "curl -s -u ada:[redacted password] https://h",
    ),
    "a password for mysql": ("mysql -uroot -ps3cret shop", "mysql -uroot -p[redacted password] shop"),
    "a line of .netrc": ("machine h login ada password s3cret9", "login ada password [redacted password]"),
    "a variable that ends in pass": ("export DB_PASS=hunter22", "export DB_PASS=[redacted value]"),
    "a password in German": ("Passwort: geheim123", "Passwort: [redacted value]"),
    "a Slack web hook": ("https://hooks.slack.com/services/T000/B000/abcdefgh", "services/[redacted url]"),
}


@pytest.mark.parametrize("name", HITS)
def test_a_secret_becomes_a_mark_and_the_text_around_it_stays(name: str) -> None:
    text, expected = HITS[name]
    found = redact(text)
    assert expected in found
    assert redact(found) == found


HARMLESS = (
    "commit 3792d670c1f5ab2e9f4d8b7a6c5e4d3f2a1b0c9d",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "id 0190abcd-2024-7c1d-bb02-3a0e8a44d7f0 and 550E8400-E29B-41D4-A716-446655440000",
    "  --> crates/harn-serve/src/adapters/mcp_server_2026_07_28.rs:12:5",
    "/usr/lib/python3/dist-packages/some_package_2/Module1/Version2Test3/file.py:3: error",
    "integrity sha512-oAZ3gV1bYk9wQ8sR7tY6uI5oP4aS3dF2gH1jK0lZ9xC8vB7nM6qW5eR4tY3uI2oP1aS0dF9gH8jK7l==",
    "github.com/a/b v1.2.3 h1:Qw3rT5yU7iO9pA1sD3fG5hJ7kL9zX1cV3bN5mQ7wE9r=",
    "test TestShouldReturn404WhenTheInputIsEmptyAndTheCacheIsCold2 failed",
    "undefined symbol: _ZN4core3fmt9Formatter12pad_integral17h0a1b2c3d4e5f6a7bE",
    "error: expected one of `;` or `}`, found token: `let`",
    "token = next_token(stream)",
    "password: str",
    "def check(password: str, token: int = 3) -> bool:",
    "API_KEY=$API_KEY",
    "SECRET_TOKEN=<your token>",
    "PASSWORD=********",
    "let tokens = 42;",
    "max_tokens: 4096",
    "wheels: watchfiles-1.3.0-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
    "thread 'tests::adds_up' panicked at src/lib.rs:12:9",
    "FAILED tests/test_auth.py::test_token_is_refused - AssertionError: assert 401 == 200",
    "https://example.com/a/b?page=2&sort=name",
    "http://localhost:8080/path@2",
    "2026-11-15T12:45:00.123456789+00:00",
    "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQC7x1Y2z3A4b5C6d7E8f9 me@host",
    "target/debug/deps/shop-0123456789abcdef",
    "basic authorization is not supported",
    "mysql -p --host db shop",
    "curl -u https://example.com",
    "key-value pairs and bypass_cache=true",
    "FAIL pass_count: 12",
    "The authorization of this call was refused",
)


@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize("seed", range(40))
def test_a_path_with_a_hash_in_it_is_a_path(seed: int) -> None:
    text = f"Running unittests src/lib.rs (target/debug/deps/shop-{drawn(16, '0123456789abcdef', seed)})"
    assert redact(text) == text


@pytest.mark.parametrize("seed", range(40))
def test_values_with_slashes_in_them_are_found_too(seed: int) -> None:
    value = drawn(64, LETTERS + "+/", seed)
    assert value not in redact(f"value {value}\n")


@pytest.mark.parametrize("seed", range(40))
def test_values_drawn_by_lot_are_found_whatever_their_letters(seed: int) -> None:
    value = drawn(43, seed=seed)
    assert value not in redact(f"value {value}\n")


@pytest.mark.parametrize("gap", ["\n", " ", "x"])
def test_the_beginning_of_a_text_ends_before_what_the_cut_goes_through(gap: str) -> None:
    text = "a" * 5_000 + gap + GITHUB + " more" * 9
    for longest in range(5_001, 5_001 + len(GITHUB)):
        found = beginning(text, longest)
        assert text.startswith(found)
        assert "ghp" not in found
    assert beginning(text, len(text)) == text


def test_known_values_are_found_literally_in_any_place() -> None:
    assert redact("a=plainword;b", known=("plainword", "a")) == "a=[redacted known value];b"


def test_the_telling_variables_of_an_environment_are_known_values() -> None:
    environment = {"PATH": "/bin", "MY_TOKEN": "abcdef", "DB_PASSWORD": " ", "URL": "x://a:b@c"}
    assert known_secrets(environment) == ("abcdef", "x://a:b@c")


@given(st.text(max_size=300))
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    once = redact(text)
    assert redact(once) == once


def test_a_long_text_without_secrets_is_read_in_one_pass() -> None:
    text = "at src/module_12/file_7.rs:12: token mismatch in parser\n" * 20_000
    assert redact(text) == text


@pytest.mark.parametrize("run", ["-" * 20_000, "_" * 20_000, ("-" * 78 + "\n") * 250, "A1b2-" * 4_000])
def test_a_long_run_of_one_kind_is_read_about_as_fast_as_words_are(run: str) -> None:
    def work(text: str) -> float:
        """The least work that reading it takes, in the processor's own time."""
        took = []
        for _ in range(3):
            begun = process_time()
            assert redact(text) == text
            took.append(process_time() - begun)
        return min(took)

    words = ("the quick brown fox " * 1_000)[: len(run)]
    assert work(run) < 20 * work(words)


def test_what_a_person_says_to_be_a_secret_is_one_and_ordinary_words_are_not() -> None:
    assert redact("the password is hunter2!") == "the password is [redacted value]"
    for text in ("the token is expired, refresh the page", "password: required", "sk-learn and risk-free"):
        assert redact(text) == text
