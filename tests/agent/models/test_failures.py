"""What goes wrong at a provider: errors, retries, dropped connections, deadlines, cancellation."""

from __future__ import annotations

import asyncio

import pytest

from tests.agent.models.vendors import DEADLINE, KEY, WIRES, Naps, ask, body, error_of, make, run
from tidings.agent import conversation as talk
from tidings.agent.models.patience import Patience
from tidings.agent.port import ModelError
from tidings.errors import CallerError
from tidings.testing.fake_provider import Call, FakeProvider, Gate, Refuse, Say

HELLO = [talk.user("Hello")]
every_wire = pytest.mark.parametrize("wire", WIRES)


def patience(naps: Naps, retries: int = 2) -> Patience:
    return Patience(deadline=DEADLINE, retries=retries, sleep=naps)


@every_wire
@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_an_error_of_the_request_is_not_repeated(wire: str, status: int) -> None:
    naps = Naps()
    with FakeProvider(Refuse(status=status, message="not like this"), Say(text="late")) as provider:
        error = error_of(make(wire, provider, patience=patience(naps)), HELLO)
    assert (error.status, error.retryable) == (status, False)
    assert f"answered {status}" in str(error)
    assert "not like this" in str(error)
    assert (len(provider.requests), naps.taken) == (1, [])


@every_wire
@pytest.mark.parametrize("status", [408, 429, 500, 503, 529])
def test_an_error_of_the_moment_is_repeated_twice_with_growing_pauses(wire: str, status: int) -> None:
    naps = Naps()
    with FakeProvider(*[Refuse(status=status)] * 3, Say(text="late")) as provider:
        error = error_of(make(wire, provider, patience=patience(naps)), HELLO)
    assert (error.status, error.retryable, len(provider.requests)) == (status, True, 3)
    first, second = naps.taken
    assert 0.3 < first <= 0.5
    assert 0.7 < second <= 1.0


@every_wire
def test_a_later_attempt_gives_the_answer(wire: str) -> None:
    heard: list[str] = []
    with FakeProvider(Refuse(status=529), Refuse(status=500), Say(text="At last")) as provider:
        answer = ask(make(wire, provider), HELLO, on_text=heard.append)
    assert (answer.text, heard, len(provider.requests)) == ("At last", ["At ", "last"], 3)
    assert provider.bodies[0] == provider.bodies[1] == provider.bodies[2]


@every_wire
def test_the_pause_that_the_provider_asks_for_is_kept(wire: str) -> None:
    naps = Naps()
    with FakeProvider(Refuse(status=429, retry_after="7"), Say(text="Hi")) as provider:
        ask(make(wire, provider, patience=patience(naps)), HELLO)
    assert naps.taken == [7.0]


@every_wire
def test_a_pause_longer_than_the_deadline_is_not_begun(wire: str) -> None:
    naps = Naps()
    with FakeProvider(Refuse(status=429, retry_after="3600"), Say(text="late")) as provider:
        error = error_of(make(wire, provider, patience=patience(naps)), HELLO)
    assert (error.status, error.retryable, naps.taken) == (429, True, [])


@every_wire
def test_no_retries_means_one_attempt(wire: str) -> None:
    with FakeProvider(Refuse(status=500), Say(text="late")) as provider:
        error = error_of(make(wire, provider, patience=patience(Naps(), retries=0)), HELLO)
    assert (error.retryable, len(provider.requests)) == (True, 1)


@every_wire
@pytest.mark.parametrize("cut", ["drop", "end", "garbage"])
def test_a_stream_that_breaks_after_text_is_an_error_and_not_repeated(wire: str, cut: str) -> None:
    heard: list[str] = []
    broken = Say(text="Well, this", cut=cut)  # type: ignore[arg-type]
    with FakeProvider(broken, Say(text="late")) as provider:
        error = error_of(make(wire, provider), HELLO, heard)
    assert (error.retryable, error.status) == (True, None)
    assert heard == ["Well, "]
    assert len(provider.requests) == 1


@every_wire
@pytest.mark.parametrize("cut", ["drop", "end", "garbage"])
def test_a_stream_that_breaks_before_any_text_is_repeated(wire: str, cut: str) -> None:
    heard: list[str] = []
    broken = Say(thinking="Let me see.", calls=(Call("read"), Call("read")), cut=cut)  # type: ignore[arg-type]
    with FakeProvider(broken, Say(text="Here")) as provider:
        answer = ask(make(wire, provider), HELLO, on_text=heard.append)
    assert (answer.text, heard) == ("Here", ["Here"])


@every_wire
def test_an_error_inside_the_stream_is_seen(wire: str) -> None:
    kind = "rate_limit_exceeded" if wire.startswith("openai") else None
    refuse = Refuse(status=429, message="slow down", kind=kind, in_stream=True)
    with FakeProvider(*[refuse] * 3) as provider:
        error = error_of(make(wire, provider), HELLO)
    assert (error.status, error.retryable, len(provider.requests)) == (429, True, 3)
    assert "slow down" in str(error)


@every_wire
def test_no_server_is_an_error_of_the_moment(wire: str) -> None:
    naps = Naps()
    with FakeProvider() as provider:
        model = make(wire, provider, patience=patience(naps))
    error = error_of(model, HELLO)
    assert (error.status, error.retryable, len(naps.taken)) == (None, True, 2)


@every_wire
def test_the_deadline_ends_the_request(wire: str) -> None:
    gate = Gate()
    with FakeProvider(Say(text="late", before=gate)) as provider:
        error = error_of(make(wire, provider, patience=Patience(deadline=1.0, sleep=Naps())), HELLO)
        assert provider.requests[0].left.wait(DEADLINE)
    assert error.retryable
    assert "within 1 s" in str(error)


@every_wire
def test_the_deadline_ends_a_stream_that_stalls(wire: str) -> None:
    gate = Gate()
    heard: list[str] = []
    with FakeProvider(Say(text="One two three", midway=gate)) as provider:
        error = error_of(make(wire, provider, patience=Patience(deadline=1.0, sleep=Naps())), HELLO, heard)
        assert provider.requests[0].left.wait(DEADLINE)
    assert (error.retryable, heard) == (True, ["One "])


@every_wire
def test_the_deadline_spans_all_attempts_and_pauses(wire: str) -> None:
    async def forever(seconds: float) -> None:
        await asyncio.Event().wait()

    with FakeProvider(Refuse(status=500)) as provider:
        error = error_of(make(wire, provider, patience=Patience(deadline=0.5, sleep=forever)), HELLO)
    assert "within 0.5 s" in str(error)


@every_wire
def test_text_is_heard_before_the_answer_is_complete(wire: str) -> None:
    gate = Gate()
    heard: list[str] = []

    def listen(text: str) -> None:
        heard.append(text)
        gate.open()

    with FakeProvider(Say(text="One two", midway=gate)) as provider:
        answer = ask(make(wire, provider), HELLO, on_text=listen)
    assert (answer.text, heard) == ("One two", ["One ", "two"])


@every_wire
def test_a_cancelled_request_is_closed(wire: str) -> None:
    gate = Gate()

    async def work() -> None:
        model = make(wire, provider)
        started = asyncio.Event()
        task = asyncio.create_task(model.answer(body(model, HELLO), on_text=lambda text: started.set()))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(provider.requests[0].left.wait, DEADLINE)
        await model.close()

    with FakeProvider(Say(text="One two", midway=gate)) as provider:
        run(work)


@every_wire
def test_an_error_in_the_listener_is_the_callers_own(wire: str, caplog: pytest.LogCaptureFixture) -> None:
    def listen(text: str) -> None:
        raise ValueError("my own mistake")

    with (
        FakeProvider(Say(text="Hi"), Say(text="Hi")) as provider,
        pytest.raises(ValueError, match="my own"),
    ):
        ask(make(wire, provider), HELLO, on_text=listen)
    assert len(provider.requests) == 1
    if wire == "gemini":
        caplog.clear()  # its SDK leaves a stream that is not read to its end to the garbage collector


@every_wire
def test_no_error_shows_a_key(wire: str) -> None:
    said = f"Incorrect API key provided: {KEY}, or Bearer abc.def, or sk-proj-**********wxyz"
    with FakeProvider(Refuse(status=401, message=said)) as provider:
        error = error_of(make(wire, provider), HELLO)
    shown = f"{error!r} {error.__cause__}"
    assert [part for part in (KEY, "abc.def", "wxyz") if part in shown] == []
    assert error.__suppress_context__


@every_wire
def test_a_missing_key_is_said_in_words(wire: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    with FakeProvider() as provider:
        error = error_of(make(wire, provider, api_key=None), HELLO)
    assert not error.retryable
    assert "key" in str(error).lower()
    assert provider.requests == []


def test_a_spent_quota_is_not_asked_again() -> None:
    with FakeProvider(Refuse(status=429, kind="insufficient_quota"), Say(text="late")) as provider:
        error = error_of(make("openai_chat", provider), HELLO)
    assert (error.status, error.retryable, len(provider.requests)) == (429, False, 1)


def test_patience_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(CallerError, match="deadline"):
        Patience(deadline=0)
    with pytest.raises(CallerError, match="retries"):
        Patience(retries=-1)


def test_a_sdk_that_is_missing_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeProvider() as provider:
        model = make("anthropic", provider)
        monkeypatch.setattr(model, "module", "anthropic_that_is_not_here")
        with pytest.raises(ModelError, match=r"pip install 'tidings\[anthropic\]'"):
            ask(model, HELLO)
