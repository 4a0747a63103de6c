"""How much external text one request carries: what is rendered counts, and nobody waits for ever."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidings as td
from tests.core.build import reminder
from tests.rendering import detect
from tidings.core.trust import REQUEST_BUDGET
from tidings.shell.transforms import admit_reminder
from tidings.testing import strategies

HI = [{"role": "user", "content": "hi"}]
PLACEMENTS = ("seed", "append_only")


def outsider(name: str, body: str, **fields: object) -> td.Reminder:
    return reminder(name, body=body, trust="external", origin="ci", **fields)


def told(request: td.Request) -> list[str]:
    return [shown.reminder_id for shown in request.fired]


def size(request: td.Request) -> int:
    """Bytes of everything that rendering added."""
    return sum(len(text.encode()) for text in detect.strings(request.body) if "Information from" in text)


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_what_escaping_adds_counts(placement: str) -> None:
    grown = [outsider(f"r{number}", "&" * 2_000) for number in range(3)]
    request = td.render("openai/gpt-4o", messages=HI, reminders=grown, placement=placement)
    assert (told(request), request.deferred) == (["r0"], ("r1", "r2"))
    assert size(request) <= REQUEST_BUDGET
    assert [(w.code, w.producer) for w in request.warnings] == [("external_budget", "in_pipeline:ci")]


@pytest.mark.parametrize(
    "body", ["&" * 8_000, "<" * 8_000, "a" + "\n" * 7_000 + "z", "x" * 100 + "&" * 8_000]
)
def test_one_that_grows_beyond_a_whole_request_is_cut_and_told(body: str) -> None:
    request = td.render("openai/gpt-4o", messages=HI, reminders=[outsider("big", body)])
    assert (told(request), request.deferred) == (["big"], ())
    assert REQUEST_BUDGET // 2 < size(request) <= REQUEST_BUDGET
    assert f"> [truncated by tidings: {len(body)} bytes" in str(request.body)
    assert [(w.code, w.producer) for w in request.warnings] == [("external_cut", "in_pipeline:ci")]


@given(st.lists(st.tuples(strategies.hostile_texts(), st.integers(1, 400)), max_size=6))
def test_no_request_carries_more_than_the_budget_and_none_is_without_the_first(
    given_: list[tuple[str, int]],
) -> None:
    bodies = [text * times for text, times in given_ if text.strip()]
    waiting = [outsider(f"r{number}", body) for number, body in enumerate(bodies)]
    request = td.render("plain/x", messages="hi", reminders=waiting)
    quotes = sum(len(text.encode()) for text in str(request.body["prompt"]).split("\n\n")[:-1])
    assert quotes <= REQUEST_BUDGET + 2 * len(waiting)
    assert told(request)[:1] == [r.id for r in waiting[:1]]
    assert sorted([*told(request), *request.deferred]) == sorted(r.id for r in waiting)


def lives(transcript: td.Transcript, turns: int, arriving: int = 0) -> list[list[str]]:
    """What each of so many answered requests shows; `arriving` newcomers come before each."""
    shown = []
    for turn in range(1, turns + 1):
        for number in range(arriving):
            options = {"body": "n" * 7_000, "id": f"new {turn}.{number}", "ttl_turns": 1}
            transcript = admit_reminder(transcript, options, producer="mcp", origin="ci").transcript
        request = td.render("openai/gpt-4o", messages=HI, reminders=transcript.pending)
        transcript = td.mark_fired(transcript, request, turn=turn).transcript
        transcript = td.post_turn(transcript, turn=turn).transcript
        shown.append(told(request))
    return shown


def endless(*names: str) -> td.Transcript:
    transcript = td.Transcript(session_id="s")
    for name in names:
        options = {"body": name * 7_000, "id": name}
        transcript = admit_reminder(transcript, options, producer="mcp", origin="ci").transcript
    return transcript


def test_those_that_never_end_take_turns() -> None:
    assert lives(endless("a", "b", "c", "d", "e"), 5) == [
        ["a", "b"],
        ["c", "d"],
        ["a", "e"],
        ["b", "c"],
        ["a", "d"],
    ]


def test_newcomers_and_old_ones_do_not_starve_each_other() -> None:
    shown = lives(endless("a", "b", "c"), 12, arriving=1)
    every = [name for names in shown for name in names]
    assert all(every.count(name) >= 2 for name in "abc")
    newcomers = [name for name in every if name.startswith("new")]
    assert newcomers == sorted(newcomers, key=lambda name: int(name.split()[1].partition(".")[0]))
    assert len(newcomers) >= 4


def test_who_waits_is_part_of_the_log_and_of_a_stored_transcript() -> None:
    with td.open_log("memory:") as log, td.active_log(log):
        transcript = endless("a", "b", "c")
        request = td.render("openai/gpt-4o", messages=HI, reminders=transcript.pending)
        transcript = td.mark_fired(transcript, request, turn=1).transcript
        replayed = td.replay(log, "s")
    assert replayed == transcript
    for again in (transcript, replayed, td.Transcript.from_dict(transcript.to_dict())):
        request = td.render("openai/gpt-4o", messages=HI, reminders=again.pending)
        assert (told(request), request.deferred) == (["a", "c"], ("b",))
