"""`WebhookWatcher`: reviews and CI results that a service sends, once its signature is checked."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from urllib.parse import parse_qs

import msgspec

from tidings.core.producers import shown
from tidings.errors import CallerError
from tidings.watchers.reviews.events import (
    Ci,
    CiMemory,
    event_time,
    from_github,
    from_gitlab,
    repository_of,
)
from tidings.watchers.reviews.http import LARGEST_BODY, Answer, Request, serving
from tidings.watchers.reviews.items import Shape, read_item, turned
from tidings.watchers.reviews.replay import AGE, Deliveries
from tidings.watchers.reviews.verifying import SCHEMES, Delivery, Refusal, Scheme, check_secrets, verify
from tidings.watchers.told import News, Noticed, Told

QUEUED = 1_000
"""How much news waits to be taken; a sender of more is asked to come again."""


class WebhookWatcher:
    """Listens for webhooks and tells of the reviews and CI results in them.

    Every delivery must be signed with one of `secrets`, be new, and be younger than `age` seconds. Without
    `repositories` all are taken. `standard` deliveries are read with `form`.

    Raises:
        CallerError: no usable secret, an unknown scheme, or a path that does not begin with `/`.
    """

    def __init__(
        self,
        secrets: Sequence[str],
        *,
        scheme: Scheme = "github",
        host: str = "127.0.0.1",
        port: int = 0,
        path: str = "/webhook",
        repositories: Sequence[str] = (),
        form: Shape | None = None,
        age: float = AGE,
        largest: int = LARGEST_BODY,
        clock: Callable[[], float] = time.time,
        name: str = "reviews",
    ) -> None:
        if scheme not in SCHEMES:
            raise CallerError(f"`scheme` must be one of {', '.join(SCHEMES)}; got {shown(scheme)}")
        if not path.startswith("/"):
            raise CallerError(f"`path` must begin with /; got {shown(path)}")
        self.name = name
        self.url = ""
        self.ready = asyncio.Event()
        """Set once it listens at `url`."""
        self._secrets = check_secrets(secrets)
        self._scheme: Scheme = scheme
        self._place = (host, port, path)
        self._largest = largest
        self._repositories = frozenset(repositories)
        self._form = form or Shape()
        self._age = age
        self._clock = clock
        self._deliveries = Deliveries(age=age)
        self._ci = CiMemory()
        self._states: dict[str, str] = {}
        self._news: asyncio.Queue[News] = asyncio.Queue(QUEUED)
        self._refusals: dict[str, int] = {}

    async def watch(self) -> AsyncGenerator[News, None]:
        """What arrives; raises `CallerError` when the address cannot be bound."""
        host, port, path = self._place
        try:
            async with serving(
                self.handle, self._refused, host=host, port=port, path=path, largest=self._largest
            ) as bound:
                self.url = f"http://{f'[{host}]' if ':' in host else host}:{bound}{path}"
                self.ready.set()
                while True:
                    yield await self._news.get()
        except OSError as error:
            raise CallerError(
                f"cannot listen at {host}:{port}: {error.strerror}; choose another"
            ) from error

    def handle(self, request: Request) -> Answer:
        """Take one delivery in.

        Raises:
            Refusal: it is not signed, not new, not readable, or there is no room.
        """
        if self._news.full():
            raise Refusal(503, "webhook_busy", "too much news waits to be taken; send it again later")
        now = self._clock()
        delivery = verify(self._scheme, request.headers, request.body, self._secrets, now)
        payload = decoded(request)
        happened = event_time(payload)
        if happened is not None and now - happened > self._age:
            raise Refusal(409, "webhook_stale", f"the event is older than {self._age:g} seconds")
        verdict = self._deliveries.take(delivery, now)
        if verdict == "replayed":
            raise Refusal(409, "webhook_replayed", "this content was delivered before, under another id")
        if verdict == "repeated":
            return Answer(200, "repeated")
        if self._repositories and repository_of(payload) not in self._repositories:
            return Answer(202, "ignored")
        told = self._read(delivery, payload)
        if told is None:
            return Answer(202, "ignored")
        self._news.put_nowait(told)
        return Answer(202, "accepted")

    def _read(self, delivery: Delivery, payload: Mapping[str, object]) -> Told | None:
        match self._scheme:
            case "github":
                found = from_github(delivery.event, payload)
            case "gitlab":
                found = from_gitlab(payload)
            case "standard":
                return self._item(payload)
        return self._ci.tell(found) if isinstance(found, Ci) else found

    def _item(self, payload: Mapping[str, object]) -> Told | None:
        item = read_item(payload.get("data", payload), self._form)
        if item is None:
            return None
        told = turned(self._states, [item], self.name)
        self._states.pop(item.id, None)
        self._states[item.id] = item.state
        if len(self._states) > QUEUED:
            del self._states[next(iter(self._states))]
        return told[0] if told else None

    def _refused(self, refusal: Refusal) -> None:
        """Record a refusal: the first of its kind, then whenever their number has doubled."""
        count = self._refusals[refusal.code] = self._refusals.get(refusal.code, 0) + 1
        if count & (count - 1) == 0 and not self._news.full():
            details: dict[str, object] = {"status": refusal.status, "count": count}
            self._news.put_nowait(Noticed(refusal.code, str(refusal), details))


def decoded(request: Request) -> Mapping[str, object]:
    """The payload: JSON, or JSON in the form field `payload`.

    Raises:
        Refusal: another content type, or no JSON object.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in ("application/json", "application/x-www-form-urlencoded"):
        raise Refusal(415, "webhook_malformed", "the content type must be application/json or a form")
    try:
        text = request.body.decode()
        if kind != "application/json":
            text = parse_qs(text, max_num_fields=10).get("payload", [""])[0]
        payload = msgspec.json.decode(text)
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise Refusal(400, "webhook_malformed", "the body is not valid JSON") from error
    if not isinstance(payload, dict):
        raise Refusal(400, "webhook_malformed", "the body is not a JSON object")
    return payload
