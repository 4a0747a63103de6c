"""Who may speak through a webhook, and what was here before."""

from __future__ import annotations

import hmac
from base64 import b64encode
from hashlib import sha256

import pytest

from tidings.errors import CallerError
from tidings.watchers.reviews.replay import Deliveries, seconds
from tidings.watchers.reviews.verifying import TOLERANCE, Delivery, Refusal, check_secrets, verify

SECRET = b"a-long-secret"
BODY = b'{"a": 1}'
DIGEST = sha256(BODY).hexdigest()
NOW = 1_700_000_000.0


def github(secret: bytes = SECRET, body: bytes = BODY) -> dict[str, str]:
    signature = hmac.new(secret, body, sha256).hexdigest()
    return {
        "x-hub-signature-256": f"sha256={signature}",
        "x-github-delivery": "d1",
        "x-github-event": "status",
    }


def standard(time: float | str = NOW, secret: bytes = SECRET) -> dict[str, str]:
    said = time if isinstance(time, str) else f"{time:.0f}"
    mac = hmac.new(secret, f"m1.{said}.".encode() + BODY, sha256).digest()
    return {
        "webhook-id": "m1",
        "webhook-timestamp": said,
        "webhook-signature": f"v1,{b64encode(b'x' * 32).decode()} v1,{b64encode(mac).decode()}",
    }


def refusal(scheme: str, headers: dict[str, str], body: bytes = BODY) -> tuple[int, str]:
    with pytest.raises(Refusal) as refused:
        verify(scheme, headers, body, (SECRET,), NOW)  # type: ignore[arg-type]
    return refused.value.status, refused.value.code


def test_a_signed_delivery_of_each_scheme_is_taken() -> None:
    gitlab = {"x-gitlab-token": SECRET.decode(), "x-gitlab-event-uuid": "u1", "x-gitlab-event": "Note Hook"}
    assert verify("github", github(), BODY, (SECRET,), NOW) == Delivery("d1", DIGEST, "status")
    assert verify("gitlab", gitlab, BODY, (SECRET,), NOW) == Delivery("u1", DIGEST, "Note Hook")
    assert verify("standard", standard(), BODY, (SECRET,), NOW) == Delivery("m1", DIGEST, "")


def test_while_a_secret_is_exchanged_both_are_good() -> None:
    assert verify("github", github(b"the-new-secret"), BODY, (SECRET, b"the-new-secret"), NOW).id == "d1"


def test_a_standard_secret_in_base64_signs_with_its_bytes() -> None:
    secret = b"whsec_" + b64encode(SECRET)
    assert verify("standard", standard(), BODY, (secret,), NOW).id == "m1"


@pytest.mark.parametrize(
    ("scheme", "headers", "code"),
    [
        ("github", {}, "webhook_unsigned"),
        ("github", github(b"another-secret"), "webhook_wrong_signature"),
        ("github", {"x-hub-signature-256": "sha256=é"}, "webhook_wrong_signature"),
        ("github", github(body=b'{"a": 2}'), "webhook_wrong_signature"),
        ("gitlab", {}, "webhook_unsigned"),
        ("gitlab", {"x-gitlab-token": "guess"}, "webhook_wrong_signature"),
        ("standard", {}, "webhook_unsigned"),
        ("standard", standard(secret=b"another-secret"), "webhook_unsigned"),
        ("standard", standard() | {"webhook-id": "m2"}, "webhook_unsigned"),
        ("standard", standard(NOW - TOLERANCE - 1), "webhook_stale"),
        ("standard", standard(NOW + TOLERANCE + 1), "webhook_stale"),
        *(("standard", standard(time), "webhook_stale") for time in ("", "soon", "²", "-1", "9" * 5_000)),
    ],
)
def test_anything_else_is_refused_with_401(scheme: str, headers: dict[str, str], code: str) -> None:
    assert refusal(scheme, headers) == (401, code)


def test_a_receiver_without_a_real_secret_is_refused() -> None:
    with pytest.raises(CallerError, match="needs a secret"):
        check_secrets(())
    with pytest.raises(CallerError, match="must have 8 characters or more"):
        check_secrets(("short",))


def test_the_same_delivery_is_repeated_and_its_content_under_a_new_id_is_replayed() -> None:
    seen = Deliveries()
    first, again = Delivery("d1", "a", ""), Delivery("d1", "a", "")
    other_id, other_body = Delivery("d2", "a", ""), Delivery("d1", "b", "")
    found = [seen.take(one, NOW) for one in (first, again, other_id, other_body, Delivery("d3", "c", ""))]
    assert found == ["new", "repeated", "replayed", "replayed", "new"]


def test_a_delivery_without_an_id_is_known_by_its_content() -> None:
    seen = Deliveries()
    assert [seen.take(Delivery("", "a", ""), NOW) for _ in range(2)] == ["new", "replayed"]


def test_content_that_was_forgotten_with_its_age_is_new_again() -> None:
    seen, first = Deliveries(age=60), Delivery("", DIGEST, "")
    assert [seen.take(first, now) for now in (0, 60, 61)] == ["new", "replayed", "new"]


def test_the_memory_is_bounded_in_number_and_in_time() -> None:
    seen = Deliveries(most=2, age=10)
    for name in "abc":
        seen.take(Delivery(name, name, ""), NOW)
    assert seen.take(Delivery("c", "c", ""), NOW) == "repeated"
    assert seen.take(Delivery("a", "a", ""), NOW) == "new"
    assert seen.take(Delivery("c", "c", ""), NOW + 11) == "new"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2023-11-14T22:13:20Z", NOW),
        ("2023-11-14 22:13:20 UTC", NOW),
        ("2023-11-15T00:13:20+02:00", NOW),
        ("2023-11-14T22:13:20", None),
        ("soon", None),
        (17, None),
    ],
)
def test_times_are_read_as_services_write_them(text: object, expected: float | None) -> None:
    assert seconds(text) == expected
