"""What one event of a host leads to: the delivery for its answer, and the records of it. Pure.

Each step takes a decision and gives the next, in the order of a loop: a turn that was answered is counted,
a compaction is applied, then the seam lets in what it may. Records for the hub's topic make up the
session's state; those to tell observers are the lifecycle's, as a loop writes them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import msgspec
from msgspec.structs import replace

from tidings.core import records
from tidings.core.records import Alike, Record
from tidings.core.reminder import Payload, Reminder
from tidings.core.seams import Seam
from tidings.hosts import voice
from tidings.hosts.happening import Delivery, Happening
from tidings.hosts.reach import Reach
from tidings.hosts.voice import Note, compose
from tidings.hub import envelope as letters
from tidings.hub.envelope import Envelope
from tidings.hub.hosting import hosted
from tidings.hub.hosting.choosing import Chosen, choose
from tidings.hub.hosting.hosted import Hosted, Older, evolve
from tidings.hub.rows import reminder_of

ROLE = "host"
"""The role in which a reminder is told to be rendered: which one it is, the host decides."""

FRAGMENT = 4_096
SETTLED = 200
"""How many replaced and stale ones are written off with one answer; the others later."""


class Pulse(msgspec.Struct, frozen=True):
    """What is known of the moment and not kept: whether a request is under way, the last batch, whether
    this prompt was continued, when a call was last held back, whether a sub-agent asks meanwhile, and what
    the request under way shows, and where it was put."""

    asking: bool = True
    batch: str | None = None
    continued: bool = False
    declined_ms: int = 0
    inside: bool = False
    shown: tuple[Note, ...] = ()
    place: str = ""


class Situation(msgspec.Struct, frozen=True, kw_only=True):
    """An event and all that bears on it; `moved_on` says that a request followed what was declined."""

    session: Hosted
    happening: Happening
    reach: Reach
    waiting: Sequence[Envelope] = ()
    pulse: Pulse = Pulse()
    now_ms: int = 0
    moved_on: bool = False

    @property
    def forgets(self) -> bool:
        """Whether the host shows a text in one request only, so that it is shown anew in each."""
        return self.reach.un_showing.how == "yes"


class News(msgspec.Struct, frozen=True):
    """Reminders that stand from a turn on, and by their ids what they replace.

    The records of it are built when they are told, so that no host waits for that.
    """

    reminders: Sequence[Reminder]
    turn: int
    older: Older

    def records(self) -> list[Record]:
        """What is told of them, in order."""
        told: list[Record] = []
        for each in self.reminders:
            if each.id in self.older:
                replaced = tuple(one.reminder for one in self.older[each.id])
                told.append(records.deduped(replaced, each))
            told.append(records.injected(replace(each, fired_at_turn=self.turn)))
        return told


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """What to answer, what to write on the hub's topic, and what to tell of the session.

    `session` is the one that steps decide about: its turn counted, a compaction applied. What is offered
    and declined changes it when the board takes in what is written.
    """

    session: Hosted
    pulse: Pulse
    delivery: Delivery = Delivery()
    written: tuple[Record | Alike, ...] = ()
    told: tuple[Record | Alike | News, ...] = ()
    rendered: Record | None = None

    def lifecycle(self) -> list[Record]:
        """The records that `told` stands for, in order."""
        found: list[Record] = []
        for each in self.told:
            found += (each,) if isinstance(each, Record) else each.records()
        return found


def decide(at: Situation) -> Decision:
    """What to do about an event."""
    done = Decision(session=at.session, pulse=at.pulse)
    if at.happening.agent_id is not None:
        return _handed_down(at, done)
    for step in (_counted, _compacted, _paced, _let_in, _closed):
        done = step(at, done)
    return done


def is_called_for(at: Situation) -> bool:
    """Whether an idle session should be woken: only by what is urgent, and by others only by grant."""
    return not at.pulse.asking and bool(choose(at.session, "daemon_idle_post", at.waiting).ready)


def _with(
    done: Decision, written: Iterable[Record | Alike], told: Iterable[Record | Alike | News] = ()
) -> Decision:
    """`done` with records that later steps need not know of."""
    return replace(done, written=(*done.written, *written), told=(*done.told, *told))


def _changed(done: Decision, record: Record) -> Decision:
    """`done` with a record, and the session after it."""
    return replace(_with(done, [record]), session=evolve(done.session, record))


def _about(at: Situation, **more: object) -> Payload:
    return {"session_id": at.session.session_id, **more}


def _counted(at: Situation, done: Decision) -> Decision:
    """Count the turn that was answered; ttls pass with it."""
    event, pulse = at.happening.event, at.pulse
    repeated = at.happening.batch is not None and at.happening.batch == pulse.batch
    if not at.moved_on and not (event.answered and pulse.asking and not repeated):
        return done
    turn = done.session.turn + 1
    before = done.session.standing
    done = _changed(done, Record(hosted.TURN, _about(at, turn=turn, at_ms=at.now_ms)))
    read = [one for one in before.values() if one.first <= turn and (at.forgets or one.shown == "offered")]
    placement = "request" if at.forgets else "append_only"
    fired = [records.fired(tuple(one.reminder.id for one in read), ROLE, turn, placement)] if read else []
    over = [one.reminder for name, one in before.items() if name not in done.session.standing]
    ended = [records.expired(reminder, "ttl", {"expired_at_turn": turn}) for reminder in over]
    return _with(replace(done, rendered=_rendered(at, turn, placement)), (), [*fired, *ended])


def _rendered(at: Situation, turn: int, placement: str) -> Record | None:
    """What the answered request showed, where that is known."""
    if not at.pulse.shown:
        return None
    about: Payload = {"turn": turn, "route": at.happening.host, "placement": placement, "message_count": 0}
    rendered = [_fragment(at.pulse.place, note) for note in at.pulse.shown]
    return Record("request.rendered", {**about, "rendered": rendered})


def _compacted(at: Situation, done: Decision) -> Decision:
    """Let go of what a compaction took, but for what is to be shown again."""
    if at.happening.event.phase != "compacted" or not done.session.standing:
        return done
    before = done.session.standing
    done = _changed(done, Record(hosted.COMPACTED, _about(at)))
    gone = [one.reminder for name, one in before.items() if name not in done.session.standing]
    return _with(done, (), [records.expired(reminder, "compaction") for reminder in gone])


def _paced(at: Situation, done: Decision) -> Decision:
    """Follow whether a request is under way."""
    event, pulse = at.happening.event, at.pulse
    paced = Pulse(
        asking=event.asks or (pulse.asking and not event.answered and event.phase != "starts"),
        batch=at.happening.batch or pulse.batch,
        continued=pulse.continued and event.phase != "prompted",
        declined_ms=pulse.declined_ms,
        inside=pulse.inside and not event.requests,
        shown=pulse.shown if done.session.turn == at.session.turn else (),
        place=pulse.place,
    )
    return replace(done, pulse=paced)


def _let_in(at: Situation, done: Decision) -> Decision:
    """Let in what the event's seam takes, as its answer allows."""
    event = at.happening.event
    if event.seam is None or event.phase == "ends":
        return done
    if event.seam == "daemon_idle_post":
        return done if at.pulse.asking else _woken(at, done)
    if event.declines:
        return _declined(at, done)
    if event.goes_on:
        return _continued(at, done, event.seam)
    return _delivered(at, done, event.seam) if event.carries else done


def _woken(at: Situation, done: Decision) -> Decision:
    """Tell an idle session what woke it; a request follows."""
    done = _delivered(at, done, "daemon_idle_post")
    return replace(done, pulse=replace(done.pulse, asking=bool(done.delivery.text)))


def _declined(at: Situation, done: Decision) -> Decision:
    """Hold the call back while something urgent waits; where nothing follows a batch, tell it at once."""
    event, held = at.happening.event, done.session.declined
    pressing = choose(done.session, "pre_tool_dispatch", at.waiting).ready
    rest_of_batch = event.carries and bool(held)
    if (not pressing and not rest_of_batch) or at.pulse.inside or len(held) >= hosted.DECLINED_MOST:
        return _delivered(at, done, "post_tool_dispatch") if event.asks and event.carries else done
    if pressing and event.carries:
        done = _delivered(at, done, "pre_tool_dispatch")
    reason = voice.WITH_IT if rest_of_batch and not pressing else voice.FOLLOWS
    names = [one.reminder_id for one in pressing[: voice.MOST]]
    calls = list(at.happening.calls or ("",))
    done = _with(done, [Record(hosted.DECLINED, _about(at, calls=calls, reminder_ids=names))])
    asking = done.pulse.asking and not event.answered
    pulse = replace(done.pulse, declined_ms=at.now_ms, asking=asking)
    return replace(done, pulse=pulse, delivery=replace(done.delivery, decline=reason))


def _continued(at: Situation, done: Decision, seam: Seam) -> Decision:
    """Keep the agent from ending, once, when something waits that it should read."""
    if at.happening.continued or done.pulse.continued:
        return done
    if at.happening.event.carries:
        done = _delivered(at, done, seam)
        wanted = bool(done.delivery.text)
    else:
        wanted = bool(choose(done.session, seam, at.waiting).ready)
    if not wanted:
        return done
    pulse = replace(done.pulse, continued=True, asking=True)
    return replace(done, pulse=pulse, delivery=replace(done.delivery, go_on=True))


def _delivered(at: Situation, done: Decision, seam: Seam) -> Decision:
    """Put what `seam` lets in, and what has to be shown again, into the answer."""
    chosen = choose(done.session, seam, at.waiting)
    fresh = chosen.reminders()
    older = done.session.replaced_by(fresh)
    again = _again(at, done.session, older)
    composed = compose(_notes(at, done, again, fresh, older), at.reach.limit, chosen.behind)
    pulse = replace(done.pulse, shown=composed.shown, place=at.happening.name)
    done = replace(done, pulse=pulse, delivery=replace(done.delivery, text=composed.text))
    shown = {note.reminder.id for note in composed.shown}
    new = [each for each in fresh if each.id in shown]
    news = News(new, _first(at, done), older)
    offered = _offered(at, done, news, [each.id for each in again if each.id in shown])
    return _settled(at, offered, chosen, shown)


def _again(at: Situation, session: Hosted, older: Older) -> list[Reminder]:
    """What has to be shown again, but for what is replaced now."""
    replaced, forgets = {one.reminder.id for same in older.values() for one in same}, at.forgets
    due = [one.reminder for one in session.standing.values() if forgets or one.due]
    return [each for each in due if each.id not in replaced]


def _notes(
    at: Situation, done: Decision, again: Iterable[Reminder], fresh: Iterable[Reminder], older: Older
) -> list[Note]:
    """All that is to be shown; where texts stay, a new one says which it supersedes."""
    step = _step(at, done)
    former = {} if at.forgets else {name: same[-1].reminder.body for name, same in older.items()}
    notes = [Note(reminder=each, step=step) for each in again]
    return notes + [Note(reminder=each, step=step, supersedes=former.get(each.id)) for each in fresh]


def _first(at: Situation, done: Decision) -> int:
    """The turn whose request first shows what goes out now: not the one that is under way."""
    under_way = at.happening.event.midway and done.pulse.asking
    return done.session.turn + (2 if under_way else 1)


def _fragment(place: str, note: Note) -> Payload:
    """A reminder as it stands in a request; the host's event stands for the place in it."""
    text = voice.section(note).strip()[:FRAGMENT]
    return {"reminder_id": note.reminder.id, "role": ROLE, "path": place, "fragment": text}


def _step(at: Situation, done: Decision) -> int | None:
    """The turn that a text is as of; none where it is shown in one request only."""
    return None if at.forgets else _first(at, done)


def _offered(at: Situation, done: Decision, news: News, again: Sequence[str]) -> Decision:
    """Write that the answer holds these; what shows them only repeats itself and is not written again."""
    repeated = [name for name in again if done.session.standing[name].due]
    if not news.reminders and not repeated:
        return done
    offer = _about(
        at,
        turn=news.turn,
        event=at.happening.name,
        durability=at.reach.durability,
        reminder_ids=[each.id for each in news.reminders],
        again=repeated,
    )
    return _with(done, [Record(hosted.OFFERED, offer)], [news] if news.reminders else [])


def _settled(at: Situation, done: Decision, chosen: Chosen, shown: Collection[str]) -> Decision:
    """Take from the hub what was offered, replaced or too late."""
    if not shown and not chosen.replaced and not chosen.stale:
        return done
    replaced, stale = chosen.replaced[:SETTLED], chosen.stale[:SETTLED]
    gone = [one for one in chosen.ready if one.reminder_id in shown]
    gone += [one.envelope for one in replaced]
    told = [records.deduped((reminder_of(one.envelope),), reminder_of(one.by)) for one in replaced]
    late: Payload = {"expired_at_turn": done.session.turn, "before_delivery": True}
    told += [records.expired(reminder_of(one), "ttl", late) for one in stale]
    name = at.session.session_id
    return _with(done, letters.taken((*gone, *stale), name), told)


def _closed(at: Situation, done: Decision) -> Decision:
    """At the end, what was only to be recorded is."""
    event = at.happening.event
    if event.seam != "loop_exit":
        return done
    kept = choose(done.session, "loop_exit", at.waiting).ready
    if not kept:
        return done
    names = [one.reminder_id for one in kept]
    taken = letters.taken(kept, at.session.session_id)
    told = [records.injected(reminder_of(one)) for one in kept]
    return _with(done, [Record(hosted.AUDITED, _about(at, reminder_ids=names)), *taken], told)


def _handed_down(at: Situation, done: Decision) -> Decision:
    """Give a sub-agent that starts what stands before its parent and may go down (seed 001)."""
    event, agent_id = at.happening.event, at.happening.agent_id
    repeated = event.requests and at.pulse.inside
    done = replace(done, pulse=replace(at.pulse, inside=at.pulse.inside or event.requests))
    if event.phase != "child_starts" or not event.carries:
        return done
    standing = [one.reminder for one in done.session.standing.values() if one.reminder.propagate != "none"]
    step = _step(at, done)
    notes = [Note(reminder=each, step=step, inherited=True) for each in standing]
    composed = compose(notes, at.reach.limit)
    if not composed.shown:
        return done
    given = [note.reminder for note in composed.shown]
    about = _about(at, agent_id=agent_id, reminder_ids=[each.id for each in given])
    told = [records.inherited(each, agent_id) for each in given]
    done = replace(done, delivery=Delivery(text=composed.text))
    return done if repeated else _with(done, [Record(hosted.CHILD, about)], told)
