"""How a browser signs in: the token once, then a cookie that is made of it and says nothing about it.

`Keys` knows both and answers in the same time whatever it is given: only digests of one length are
compared. A right credential always passes; it has 256 bits, so a bound on wrong ones keeps noise away,
not guesses. The guard asks `Keys`; `http.py` mounts the two endpoints.
"""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, Sequence
from hashlib import sha256
from time import monotonic

from starlette.requests import Request, cookie_parser
from starlette.responses import Response

from tidings.hub.operations import PREFIX
from tidings.hub.wire import PLAIN

COOKIE = "tidings"
LOGIN, LOGOUT = f"{PREFIX}/login", f"{PREFIX}/logout"
WRONG_MOST = 100
WRONG_PER_SECOND = 1.0

_ATTRIBUTES = "HttpOnly; SameSite=Strict; Path=/"
_BEARER = "bearer "


class Budget:
    """So many at once, and so many more each second. `take` says whether one is left."""

    def __init__(self, most: int, per_second: float, clock: Callable[[], float] = monotonic) -> None:
        self._most = most
        self._per_second = per_second
        self._clock = clock
        self._left = float(most)
        self._at = clock()

    def take(self) -> bool:
        """Use one up, if there is one."""
        now = self._clock()
        self._left = min(self._most, self._left + (now - self._at) * self._per_second)
        self._at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True


class Keys:
    """What opens the hub: the token in a header, or the cookie of one who had it."""

    def __init__(self, token: str) -> None:
        self.cookie = hmac.new(token.encode(), b"panel", sha256).hexdigest()
        self._token = _digest(token)
        self._cookie = _digest(self.cookie)
        self.wrong = Budget(WRONG_MOST, WRONG_PER_SECOND)

    def knows_bearer(self, given: Sequence[str]) -> bool:
        """Whether the only `Authorization` header holds the token."""
        if len(given) != 1 or not given[0].lower().startswith(_BEARER):
            return False
        return hmac.compare_digest(_digest(given[0][len(_BEARER) :].strip()), self._token)

    def knows_cookie(self, given: Sequence[str]) -> bool:
        """Whether the `Cookie` headers hold the cookie."""
        found = cookie_parser("; ".join(given)).get(COOKIE, "")
        return hmac.compare_digest(_digest(found), self._cookie)


def endpoints(keys: Keys) -> dict[str, Callable[[Request], Awaitable[Response]]]:
    """The endpoint of each path; the guard has checked who asks."""

    async def login(_: Request) -> Response:
        return _answer(f"{COOKIE}={keys.cookie}; {_ATTRIBUTES}")

    async def logout(_: Request) -> Response:
        return _answer(f"{COOKIE}=; Max-Age=0; {_ATTRIBUTES}")

    return {LOGIN: login, LOGOUT: logout}


def _answer(cookie: str) -> Response:
    return Response(status_code=204, headers={**PLAIN, "set-cookie": cookie})


def _digest(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogateescape")).digest()
