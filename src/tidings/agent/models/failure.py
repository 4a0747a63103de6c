"""What went wrong at a provider: SDK and network errors become a `ModelError` without secrets.

The adapters call it. Whether a repetition may help is decided by the status alone, save for a spent
quota; the waiting itself is in `patience.py`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping

from tidings.agent.port import ModelError

_SHOWN = 500
_RETRYABLE = frozenset({408, 409, 425, 429})
_SPENT = ("insufficient_quota", "billing_hard_limit_reached", "billing_error")

_SECRETS = re.compile(
    r"\b(?:sk|pk|rk|key|gsk|xai|ghp|gho|hf)[-_][\w*.-]{6,}"
    r"|\bAIza[\w-]{10,}"
    r"|\bya29\.[\w.-]+"
    r"|(?<=[Bb]earer )[\w.~+/=*-]+"
    r"|(?<=[?&]key=)[^&\s\"']+"
)

_NETWORK = {
    "httpx": ("HTTPError", "StreamError"),
    "httpx2": ("HTTPError", "StreamError"),
    "aiohttp": ("ClientError",),
}


class ProviderFailure(ModelError):
    """A `ModelError` that may know how long the provider wants us to wait."""

    def __init__(
        self,
        message: str,
        *,
        retryable: bool = False,
        status: int | None = None,
        retry_after: float | None = None,
    ) -> None:
        self.retry_after = retry_after
        super().__init__(message, retryable=retryable, status=status)


def refused(
    vendor: str,
    status: int,
    message: object,
    *,
    code: object = None,
    headers: Mapping[str, str] | None = None,
    secrets: Iterable[str | None] = (),
) -> ProviderFailure:
    """The provider answered with an error."""
    said = clean(str(message or "no reason given"), secrets)
    retryable = (status in _RETRYABLE or status >= 500) and code not in _SPENT
    return ProviderFailure(
        f"{vendor} answered {status}: {said}",
        retryable=retryable,
        status=status,
        retry_after=_seconds((headers or {}).get("retry-after")),
    )


def unreachable(vendor: str, error: BaseException, secrets: Iterable[str | None] = ()) -> ProviderFailure:
    """No connection, or one that broke before the answer was complete."""
    said = clean(f"{type(error).__name__}: {error}", secrets)
    return ProviderFailure(f"{vendor}: the connection failed ({said})", retryable=True)


def unreadable(vendor: str, error: BaseException, secrets: Iterable[str | None] = ()) -> ProviderFailure:
    """The provider sent something that is not its protocol."""
    said = clean(f"{type(error).__name__}: {error}", secrets)
    return ProviderFailure(f"{vendor} sent something unreadable ({said})", retryable=True)


def incomplete(vendor: str) -> ProviderFailure:
    """The stream ended before the answer was complete."""
    return ProviderFailure(f"{vendor} ended its answer before it was complete", retryable=True)


def network_errors() -> tuple[type[Exception], ...]:
    """What the HTTP libraries that the SDKs brought along raise."""
    found: list[type[Exception]] = [OSError]
    for module, names in _NETWORK.items():
        if module in sys.modules:
            found += [getattr(sys.modules[module], name) for name in names]
    return tuple(found)


def clean(text: str, secrets: Iterable[str | None] = ()) -> str:
    """`text` on one line, without keys and tokens, not longer than an error should be."""
    for secret in secrets:
        if secret:
            text = text.replace(secret, "[secret]")
    line = " ".join(_SECRETS.sub("[secret]", text).split())
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"


def _seconds(text: object) -> float | None:
    try:
        seconds = float(str(text))
    except ValueError:
        return None
    return seconds if 0 <= seconds < float("inf") else None
