"""What holds for every transcript on every route."""

from __future__ import annotations

import copy
from itertools import pairwise
from typing import Any

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tidings as td
from tests.rendering import detect, legal, vendor
from tests.rendering.golden import Session
from tidings.core.reminder import Payload
from tidings.core.table import slot_of
from tidings.rendering.route import WIRES, catalogue
from tidings.shell.transforms import admit_reminder
from tidings.testing import strategies

EXAMPLES = 40
quickly = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
ROUTES = st.one_of(st.sampled_from(catalogue()), strategies.own_routes())
LINE_BREAKS = ("\n", "\r\n", "\r", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029")


@st.composite
def situations(draw: st.DrawFn) -> tuple[td.Route, td.Transcript, dict[str, Any]]:
    route = draw(ROUTES)
    transcript = draw(strategies.transcripts(route.wire))
    names = ("system", "system_prompt_parts", "system_appendix", "system_suffix")
    given_: dict[str, Any] = {name: draw(strategies.systems()) for name in names}
    given_["placement"] = draw(st.sampled_from((None, "append_only")))
    return route, transcript, given_


@quickly
@given(situations())
def test_every_transcript_renders_on_every_route_as_its_vendor_takes_it(
    situation: tuple[td.Route, td.Transcript, dict[str, Any]],
) -> None:
    route, transcript, system = situation
    request = td.render(route, messages=transcript.messages, reminders=transcript.pending, **system)
    vendor.check(route.wire, request.body)
    legal.check(route.wire, request.body)
    seen = [shown.reminder_id for shown in request.fired]
    assert sorted([*seen, *request.deferred]) == sorted(r.id for r in transcript.pending)
    assert sorted(u.reminder_id for u in request.dropped) == ["broken"] * len(transcript.pending.invalid)


@quickly
@given(situations())
def test_rendering_changes_nothing_it_was_given(
    situation: tuple[td.Route, td.Transcript, dict[str, Any]],
) -> None:
    route, transcript, system = situation
    messages, reminders = list(transcript.messages), transcript.pending
    before = copy.deepcopy((messages, list(reminders), transcript.to_dict(), system))
    td.render(route, messages=messages, reminders=reminders, **system)
    assert (messages, list(reminders), transcript.to_dict(), system) == before


@quickly
@given(situations())
def test_without_what_was_added_a_request_is_the_history_again(
    situation: tuple[td.Route, td.Transcript, dict[str, Any]],
) -> None:
    route, transcript, given_ = situation
    request = td.render(
        route,
        messages=transcript.messages,
        reminders=transcript.pending,
        placement=given_["placement"],
    )
    if route.wire == "plain":
        bare = td.render(route, messages=transcript.messages).body["prompt"]
        assert _in_order(str(bare).split("\n\n"), str(request.body["prompt"]))
    else:
        assert _history(_entries(request.body)) == _history(list(transcript.messages))


def _in_order(paragraphs: list[str], text: str) -> bool:
    at = 0
    for paragraph in paragraphs:
        said = paragraph.removeprefix("User: ")
        at = text.find(said, at)
        if at < 0:
            return False
        at += len(said)
    return True


def _entries(body: Payload) -> list[Payload]:
    name = next(name for name in ("messages", "input", "contents") if name in body)
    entries = body[name]
    assert isinstance(entries, list)
    return entries


def _history(entries: list[Any]) -> list[Payload]:
    """The entries without our texts, contents as block lists; ours alone leave altogether."""
    kept = []
    for entry in entries:
        name = next((name for name in ("content", "parts") if name in entry), None)
        if name is None or entry[name] is None:
            kept.append(dict(entry))
            continue
        blocks = entry[name]
        given_ = [{"text": blocks}] if isinstance(blocks, str) else blocks
        own = [_without_ours(block) for block in given_]
        own = [block for block in own if block is not None]
        if own or not blocks:
            kept.append({**entry, name: own})
    return kept


def _without_ours(block: Payload) -> Payload | None:
    """The block with only the history's words, without the `type` that a string gets as a block."""
    text = block.get("text")
    if not isinstance(text, str):
        return block
    for frame in ("\n\n<system-reminder>\n", "\n\nSystem reminder:\n"):
        text = "" if text.startswith(frame.strip("\n") + "\n") and "</" not in text else text
    if text.startswith("<system-reminder>"):
        text = text.rpartition("\n</system-reminder>")[2].removeprefix("\n\n")
    for frame in ("\n\n<system-reminder>\n", "\n\nSystem reminder:\n"):
        text = text.partition(frame)[0]
    text = "" if text.startswith("System reminder:\n") else text
    return {"text": text} if text else None


@quickly
@given(st.data(), ROUTES)
def test_an_append_only_request_begins_with_the_one_before_and_issues_each_reminder_once(
    data: st.DataObject, route: td.Route
) -> None:
    session = Session(route)
    if data.draw(st.booleans()):
        session.say(data.draw(strategies.conversations(route.wire)))
    made = 0
    for turn in range(data.draw(st.integers(2, 5))):
        for _ in range(data.draw(st.integers(0, 2))):
            session.inject(data.draw(strategies.reminders(id=f"r{made}")))
            made += 1
        if data.draw(st.booleans()):
            session.clear(dedupe_key=data.draw(st.sampled_from(("key-a", "key-b", "key-c"))))
        request = session.ask()
        vendor.check(route.wire, request.body)
        legal.check(route.wire, request.body)
        session.say(data.draw(strategies.exchanges(route.wire, turn + 10)))
    sent = [legal.stream(request.body) for request in session.requests]
    assert all(later.startswith(earlier) for earlier, later in pairwise(sent))
    if route.wire != "plain":
        lists = [_entries(request.body) for request in session.requests]
        assert all(later[: len(earlier)] == earlier for earlier, later in pairwise(lists))
    issued = [name for entry in session.issued for name in entry.reminder_ids]
    fired = [shown.slot for request in session.requests for shown in request.fired]
    assert len(issued) == len(set(issued))
    assert fired == issued
    announced = [i for request in session.requests for i in request.announced]
    assert len(announced) == len(set(announced))


@quickly
@given(st.data(), ROUTES)
def test_a_withdrawn_reminder_that_stands_in_the_history_is_said_to_be_off_once(
    data: st.DataObject, route: td.Route
) -> None:
    session = Session(route)
    session.say(data.draw(strategies.exchanges(route.wire)))
    given_ = data.draw(strategies.reminders(id="gone").filter(lambda r: r.ttl_turns != 1))
    session.inject(given_)
    session.ask()
    session.say(data.draw(strategies.exchanges(route.wire, 1)))
    session.clear(id="gone")
    for turn in range(2, 5):
        session.ask()
        session.say(data.draw(strategies.exchanges(route.wire, turn)))
    name = slot_of(given_)
    assert [request.announced for request in session.requests] == [set(), {name}, set(), set()]


@quickly
@given(st.data(), ROUTES.filter(lambda route: not route.preserved_thinking))
def test_a_ttl_of_n_is_rendered_in_exactly_n_answered_requests(
    data: st.DataObject, route: td.Route
) -> None:
    transcript = td.Transcript(session_id="session-1")
    promised: dict[str, int] = {}
    seen: dict[str, int] = {}

    def arrive(transcript: td.Transcript) -> td.Transcript:
        if len(promised) > 6 or not data.draw(st.booleans()):
            return transcript
        ttl = data.draw(st.integers(1, 3))
        producer = data.draw(st.sampled_from(("pipeline", "bridge", "mcp")))
        body = "x" * data.draw(st.sampled_from((10, 5_000, 8_000)))
        options = {"body": body, "ttl_turns": ttl}
        result = admit_reminder(transcript, options, producer=producer, origin="ci")
        promised[result.reminder_id] = ttl
        return result.transcript

    turn, lost = 1, 0
    while turn < 4 or (len(transcript.pending) and turn < 40):
        transcript = arrive(transcript) if turn < 4 else transcript
        request = td.render(route, messages="hi", reminders=transcript.pending)
        transcript = arrive(transcript) if turn < 4 else transcript
        if lost < 3 and data.draw(st.booleans()):
            lost += 1
            continue  # no answer came: the same turn again
        transcript = td.mark_fired(transcript, request, turn=turn).transcript
        for shown in request.fired:
            seen[shown.reminder_id] = seen.get(shown.reminder_id, 0) + 1
        transcript = arrive(transcript) if turn < 4 else transcript
        transcript = td.post_turn(transcript, turn=turn).transcript
        turn += 1
    assert seen == promised


@quickly
@given(st.data(), ROUTES, st.lists(strategies.bodies(), min_size=1, max_size=4))
def test_external_text_is_quoted_line_by_line_and_never_in_a_system_slot(
    data: st.DataObject, route: td.Route, pieces: list[str]
) -> None:
    breaks = [data.draw(st.sampled_from(LINE_BREAKS)) for _ in pieces]
    given_ = data.draw(strategies.reminders(trust="external", id="external"))
    body = "".join(f"MARK{_one_line(piece)}{ending}" for piece, ending in zip(pieces, breaks, strict=True))
    session = Session(route)
    session.say(data.draw(strategies.exchanges(route.wire)))
    session.inject(msgspec.structs.replace(given_, body=body, ttl_turns=None))
    seeded = () if route.preserved_thinking else (_seeded(session),)
    session.ask()
    session.say(data.draw(strategies.exchanges(route.wire, 1)))
    session.clear(id="external")
    session.ask()
    for request in (*seeded, *session.requests):
        lines = [line for text in detect.strings(request.body) for line in text.splitlines()]
        marked = [line for line in lines if "MARK" in line]
        assert marked
        assert [line for line in marked if not line.startswith("> ")] == []
        assert "MARK" not in "".join(detect.operator_texts(route.wire, request.body))
        assert {shown.rendered_role for shown in request.fired} <= {"user"}


def _one_line(text: str) -> str:
    return " ".join(text.splitlines())


def _seeded(session: Session) -> td.Request:
    return td.render(
        session.route,
        messages=session.transcript.messages,
        reminders=session.transcript.pending,
        placement="seed",
    )


@quickly
@given(st.data(), ROUTES, st.booleans())
def test_no_framing_tag_but_ours_survives_in_any_request(
    data: st.DataObject, route: td.Route, append: bool
) -> None:
    hostile = st.one_of(strategies.hostile_texts(), strategies.bodies())
    given_ = [
        msgspec.structs.replace(reminder, body=data.draw(hostile))
        for reminder in data.draw(strategies.reminder_lists())
    ]
    placement = "append_only" if append or route.preserved_thinking else "seed"
    request = td.render(route, messages="hi", reminders=given_, placement=placement)  # type: ignore[arg-type]
    texts = list(detect.strings(request.body))
    framed = 2 * sum(_tagged(route, reminder, placement) for reminder in given_)
    assert sum(map(detect.own_tags, texts)) == framed
    assert sum(len(detect.tags(text)) for text in texts) == framed


def _tagged(route: td.Route, reminder: td.Reminder, placement: str) -> bool:
    """Whether the seed's table (or decision 18's append-only rule) puts it in tags."""
    if reminder.trust == "external":
        return True
    if route.prefers_role_developer:
        return False
    if placement == "append_only":
        in_system = route.mid_conversation_system and route.wire != "gemini"
        return route.prefers_xml_scaffolding or not in_system
    block = route.wire == "anthropic" and reminder.role_hint in ("user_block", "ephemeral_cache")
    return block or route.prefers_xml_scaffolding


@quickly
@given(st.data(), st.sampled_from(WIRES))
def test_when_the_model_has_the_last_word_an_append_only_reminder_waits(
    data: st.DataObject, wire: Any
) -> None:
    route = td.Route(name="own/x", wire=wire, mid_conversation_system=data.draw(st.booleans()))
    messages = data.draw(strategies.conversations(wire, answered=True))
    given_ = data.draw(strategies.reminder_lists())
    request = td.render(route, messages=messages, reminders=given_, placement="append_only")
    assert request.body == td.render(route, messages=messages, placement="append_only").body
    assert request.deferred == tuple(reminder.id for reminder in given_)
    assert (request.dropped, request.fired) == ((), ())
