"""Who closes a model: a loop closes what it made from a name, and never what it was given."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

import tidings as td
from tests.agent.models.vendors import KEY, make, run
from tidings.agent.models import choose
from tidings.agent.models.streamed import StreamedModel
from tidings.testing.fake_provider import FakeProvider, Gate, Refuse, Say

NAMES = {
    "anthropic": "anthropic/claude-opus-5",
    "openai_chat": "openai/gpt-5",
    "openai_responses": "openai-responses/gpt-5",
    "gemini": "gemini/gemini-2.5-pro",
}

pytestmark = pytest.mark.parametrize("wire", NAMES)


class Watch:
    """The SDK clients that adapters make while the test runs."""

    def __init__(self) -> None:
        self.clients: list[Any] = []

    def seen(self, adapter: type[StreamedModel]) -> type[StreamedModel]:
        """`adapter`, whose clients are noted."""
        noted = self.clients

        class Seen(adapter):  # type: ignore[misc, valid-type]
            def make_client(self, sdk: ModuleType) -> Any:
                noted.append(super().make_client(sdk))
                return noted[-1]

        return Seen

    @property
    def closed(self) -> list[bool]:
        """Whether the HTTP client of each is closed."""
        return [all(http.is_closed for http in _http(client)) for client in self.clients]


def _http(client: Any) -> list[Any]:
    inner = getattr(client, "_api_client", None)
    return [client._client] if inner is None else [inner._httpx_client, inner._async_httpx_client]


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Iterator[Watch]:
    watching = Watch()
    for vendor, adapter in choose.VENDORS.items():
        monkeypatch.setitem(choose.VENDORS, vendor, watching.seen(adapter))  # type: ignore[arg-type]
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(name, KEY)
    return watching


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Callable[[FakeProvider], None]:
    def point(provider: FakeProvider) -> None:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", provider.url)
        monkeypatch.setenv("OPENAI_BASE_URL", provider.openai_url)
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", provider.url)

    return point


def loop(model: object, session: td.Session | None = None) -> Awaitable[td.LoopResult]:
    options: dict[str, Any] = {"registry": td.Registry(), "reminders": False, "session": session}
    return td.agent_loop("Hello", model=model, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("step", "status"), [(Say(text="Hi"), "done"), (Refuse(status=400, message="no"), "failed")]
)
def test_a_loop_closes_the_model_that_it_made(
    wire: str, step: Say | Refuse, status: str, watch: Watch, at: Callable[[FakeProvider], None]
) -> None:
    with FakeProvider(step) as provider:
        at(provider)
        result = run(lambda: loop(NAMES[wire]))  # type: ignore[arg-type, return-value]
    assert (result.status, watch.closed) == (status, [True])


@pytest.mark.parametrize("how", ["session", "task"])
def test_a_loop_that_is_cancelled_closes_the_model_that_it_made(
    wire: str, how: str, watch: Watch, at: Callable[[FakeProvider], None]
) -> None:
    gate, session = Gate(), td.Session("s")

    async def work() -> str:
        task = asyncio.ensure_future(loop(NAMES[wire], session))
        await asyncio.to_thread(gate.reached.wait, 10)
        session.cancel() if how == "session" else task.cancel()
        (ended,) = await asyncio.gather(task, return_exceptions=True)
        return ended.status if isinstance(ended, td.LoopResult) else type(ended).__name__

    with FakeProvider(Say(text="Hi", before=gate)) as provider:
        at(provider)
        ended = run(work)
    assert (ended, watch.closed) == ({"session": "cancelled", "task": "CancelledError"}[how], [True])


@pytest.mark.parametrize("step", [Say(text="Hi"), Refuse(status=400, message="no")])
def test_a_single_call_closes_the_model_that_it_made(
    wire: str, step: Say | Refuse, watch: Watch, at: Callable[[FakeProvider], None]
) -> None:
    async def work() -> str:
        try:
            return (await td.llm_call("Hello", model=NAMES[wire])).text
        except td.ModelError as error:
            return str(error.status)

    with FakeProvider(step) as provider:
        at(provider)
        said = run(work)
    assert (said, watch.closed) == ("Hi" if isinstance(step, Say) else "400", [True])


def test_a_model_that_was_given_stays_open_and_works_again(wire: str) -> None:
    async def work(provider: FakeProvider) -> list[object]:
        model = make(wire, provider)
        try:
            results = [await loop(model), await loop(model)]
            answer = await td.llm_call("Hello", model=model)
            still = [http.is_closed for http in _http(model.client())]
        finally:
            await model.close()
        return [*(result.text for result in results), answer.text, any(still)]

    with FakeProvider(Say(text="one"), Say(text="two"), Say(text="three")) as provider:
        assert run(lambda: work(provider)) == ["one", "two", "three", False]


def test_a_client_that_cannot_be_closed_takes_no_answer_away(
    wire: str,
    watch: Watch,
    at: Callable[[FakeProvider], None],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    adapter = choose.VENDORS[NAMES[wire].partition("/")[0]]

    class Stuck(adapter):  # type: ignore[misc, valid-type]
        async def close_client(self, client: Any) -> None:
            await super().close_client(client)
            raise OSError("the socket is gone")

    monkeypatch.setitem(choose.VENDORS, NAMES[wire].partition("/")[0], Stuck)
    with FakeProvider(Say(text="Hi")) as provider:
        at(provider)
        result = run(lambda: loop(NAMES[wire]))  # type: ignore[arg-type, return-value]
    assert (result.status, watch.closed) == ("done", [True])
    told = [r.getMessage() for r in caplog.records if r.levelno == logging.ERROR]
    assert told == [f"the client of {NAMES[wire]} could not be closed"]
