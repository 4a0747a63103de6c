"""Who sent a webhook: signatures and tokens, compared in constant time. Pure.

Three schemes: GitHub's HMAC over the body, GitLab's shared token, and Standard Webhooks, which signs id and
time as well. Nothing of a body is read before its sender is known. `Refusal` says which HTTP status
the sender gets, and its `code` names the record.
"""

from __future__ import annotations

import hmac
import re
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Literal, TypeAlias

import msgspec

from tidings.errors import CallerError, TidingsError

Scheme: TypeAlias = Literal["github", "gitlab", "standard"]
SCHEMES: tuple[Scheme, ...] = ("github", "gitlab", "standard")

TOLERANCE = 300.0
"""Seconds that a signed time may be off, in either direction."""
SHORTEST_SECRET = 8
_LONGEST_ID = 200
_SECONDS = re.compile("[0-9]{1,12}")


class Refusal(TidingsError):
    """A delivery that is not taken in: the HTTP status, the code of its record, and what to do."""

    def __init__(self, status: int, code: str, message: str) -> None:
        self.status = status
        self.code = code
        super().__init__(message)


class Delivery(msgspec.Struct, frozen=True):
    """A delivery whose sender is known: its id, the digest of its body, and its event's name."""

    id: str
    digest: str
    event: str


def check_secrets(secrets: Sequence[str]) -> tuple[bytes, ...]:
    """The secrets as bytes.

    Raises:
        CallerError: there is none, or one is too short to be one.
    """
    if not secrets:
        raise CallerError("a webhook receiver needs a secret; give the variable that holds it")
    if any(len(secret) < SHORTEST_SECRET for secret in secrets):
        raise CallerError(f"a webhook secret must have {SHORTEST_SECRET} characters or more")
    return tuple(secret.encode() for secret in secrets)


def verify(
    scheme: Scheme, headers: Mapping[str, str], body: bytes, secrets: Sequence[bytes], now: float
) -> Delivery:
    """The delivery, if one of `secrets` vouches for it. Header names are in lower case.

    Raises:
        Refusal: it is not signed, or wrongly, or the signed time is too far off.
    """
    match scheme:
        case "github":
            return _github(headers, body, secrets)
        case "gitlab":
            return _gitlab(headers, body, secrets)
        case "standard":
            return _standard(headers, body, secrets, now)


def _github(headers: Mapping[str, str], body: bytes, secrets: Sequence[bytes]) -> Delivery:
    given = headers.get("x-hub-signature-256", "")
    expected = [f"sha256={hmac.new(secret, body, sha256).hexdigest()}" for secret in secrets]
    _require(given, expected, "X-Hub-Signature-256")
    return _delivery(headers.get("x-github-delivery", ""), body, headers.get("x-github-event", ""))


def _gitlab(headers: Mapping[str, str], body: bytes, secrets: Sequence[bytes]) -> Delivery:
    given = headers.get("x-gitlab-token", "")
    _require(given, [secret.decode() for secret in secrets], "X-Gitlab-Token")
    name = headers.get("idempotency-key") or headers.get("x-gitlab-event-uuid", "")
    return _delivery(name, body, headers.get("x-gitlab-event", ""))


def _standard(headers: Mapping[str, str], body: bytes, secrets: Sequence[bytes], now: float) -> Delivery:
    name, time = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    signed = f"{name}.{time}.".encode() + body
    macs = [hmac.new(_key(secret), signed, sha256).digest() for secret in secrets]
    expected = [f"v1,{b64encode(mac).decode()}" for mac in macs]
    given = headers.get("webhook-signature", "").split()[:10]
    fits = [one for one in given if _any_equal(one, expected)]
    _require(fits[0] if fits else "", expected, "webhook-signature")
    if not _SECONDS.fullmatch(time) or abs(now - int(time)) > TOLERANCE:
        raise Refusal(401, "webhook_stale", "webhook-timestamp is too far from now; check both clocks")
    return _delivery(name, body, "")


def _key(secret: bytes) -> bytes:
    """The bytes that sign: a `whsec_` secret is base64."""
    if not secret.startswith(b"whsec_"):
        return secret
    try:
        return b64decode(secret.removeprefix(b"whsec_"), validate=True)
    except Base64Error:
        return secret


def _require(given: str, expected: Sequence[str], header: str) -> None:
    if not given:
        raise Refusal(401, "webhook_unsigned", f"the header {header} is missing or fits no secret")
    if not _any_equal(given, expected):
        raise Refusal(401, "webhook_wrong_signature", f"the header {header} fits no secret")


def _any_equal(given: str, expected: Sequence[str]) -> bool:
    """Whether one fits; every one is compared, so that time tells nothing."""
    data = given.encode(errors="replace")
    return sum([hmac.compare_digest(data, one.encode()) for one in expected]) > 0


def _delivery(name: str, body: bytes, event: str) -> Delivery:
    return Delivery(name[:_LONGEST_ID], sha256(body).hexdigest(), event[:100])
