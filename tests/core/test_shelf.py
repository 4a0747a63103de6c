"""The pending structure against the obvious one: a list that is copied for every change."""

from __future__ import annotations

import threading

import hypothesis.strategies as st
from hypothesis import given, settings
from msgspec.structs import replace

from tidings.core.lifecycle import Selector, clear, inject, post_turn
from tidings.core.reminder import Meta, Provenance, Reminder
from tidings.core.table import RANK
from tidings.core.transcript import Transcript

Model = tuple[Reminder, ...]

TRUSTS = (None, Provenance(trust="host"), Provenance(trust="external", origin="a"))


def reminder(
    number: int, *, key: str | None, ttl: int | None, turn: int, trust: Provenance | None
) -> Reminder:
    return Reminder(
        id=f"r{number}",
        tags=(f"tag{number % 3}",),
        dedupe_key=key,
        ttl_turns=ttl,
        preserve_on_compact=True,
        propagate="session",
        role_hint="system",
        source="in_pipeline",
        body=f"body {number}",
        fired_at_turn=turn,
        meta=None if trust is None else Meta(tidings=trust),
    )


def injected(model: Model, new: Reminder) -> Model:
    def stays(old: Reminder) -> bool:
        same = new.dedupe_key is not None and old.dedupe_key == new.dedupe_key and old.scope == new.scope
        return not same or RANK[old.trust] > RANK[new.trust]

    return (*filter(stays, model), new)


def aged(model: Model, turn: int | None) -> Model:
    kept = []
    for old in model:
        untouched = turn is not None and old.fired_at_turn > turn
        if untouched or old.ttl_turns is None:
            kept.append(old)
        elif old.ttl_turns > 1:
            kept.append(replace(old, ttl_turns=old.ttl_turns - 1))
    return tuple(kept)


keys = st.sampled_from([None, "k1", "k2", "k3"])
specs = st.tuples(keys, st.sampled_from([None, 1, 2, 3, 9]), st.integers(0, 4), st.sampled_from(TRUSTS))
steps = st.one_of(
    st.tuples(st.just("inject"), specs),
    st.tuples(st.just("inject"), specs),
    st.tuples(st.just("key"), st.sampled_from(["k1", "k2", "k3"])),
    st.tuples(st.just("tag"), st.sampled_from(["tag0", "tag1"])),
    st.tuples(st.just("id"), st.integers(0, 30)),
    st.tuples(st.just("turn"), st.integers(0, 5)),
    st.tuples(st.just("pass"), st.none()),
)


def perform(
    step: tuple[str, object], number: int, transcript: Transcript, model: Model
) -> tuple[Transcript, Model]:
    name, detail = step
    if name == "inject":
        key, ttl, turn, trust = detail
        new = reminder(number, key=key, ttl=ttl, turn=turn, trust=trust)
        return inject(transcript, new, f"e{number}").transcript, injected(model, new)
    if name == "turn":
        return post_turn(transcript, detail).transcript, aged(model, detail)
    if name == "pass":
        state = transcript.state
        shelf = state.shelf.age(None).shelf
        return Transcript.of(replace(state, shelf=shelf)), aged(model, None)
    selector = {
        "key": Selector(dedupe_key=str(detail)),
        "tag": Selector(tag=str(detail)),
        "id": Selector(id=f"r{detail}"),
    }[name]
    kept = tuple(old for old in model if not selector.matches(old))
    return clear(transcript, selector).transcript, kept


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(steps, st.integers(0, 1000)), max_size=40))
def test_every_version_equals_a_copied_list_also_after_branching_from_old_ones(
    plan: list[tuple[tuple[str, object], int]],
) -> None:
    versions: list[tuple[Transcript, Model]] = [(Transcript(), ())]
    for number, (step, pick) in enumerate(plan):
        base = versions[-1] if pick % 3 else versions[pick % len(versions)]
        versions.append(perform(step, number, *base))
    for transcript, model in (*versions, *reversed(versions)):
        assert transcript.pending == model
        assert tuple(map(transcript.state.shelf.remaining, transcript.state.shelf.entries())) == model


def test_a_kept_old_version_stays_as_it_was_after_thousands_of_changes() -> None:
    old = transcript = Transcript()
    for number in range(3):
        new = reminder(number, key=f"k{number}", ttl=None, turn=0, trust=None)
        old = transcript = inject(transcript, new, "e").transcript
    before = [r.id for r in old.pending]
    for number in range(3, 3000):
        new = reminder(number, key=f"k{number % 7}", ttl=None, turn=0, trust=None)
        transcript = inject(transcript, new, "e").transcript
    fresh = Transcript.of(old.state)
    assert [r.id for r in fresh.pending] == before
    assert len(transcript.pending) == 7


def test_the_history_an_old_version_holds_on_to_is_bounded() -> None:
    old = transcript = Transcript()
    for number in range(5000):
        new = reminder(number, key="k", ttl=1, turn=0, trust=None)
        transcript = inject(transcript, new, "e").transcript
    length, version = 0, old.state.shelf
    while version.newer is not None:
        length, version = length + 1, version.newer
    assert length <= 200


def test_threads_that_read_and_branch_the_same_version_do_not_disturb_each_other() -> None:
    base = Transcript()
    for number in range(50):
        base = inject(base, reminder(number, key=f"k{number}", ttl=5, turn=0, trust=None), "e").transcript
    expected = [r.id for r in base.pending]
    wrong: list[object] = []

    def work(name: int) -> None:
        for number in range(200):
            new = reminder(1000 * name + number, key=f"k{number % 50}", ttl=5, turn=0, trust=None)
            branch = inject(base, new, "e").transcript
            seen = [r.id for r in Transcript.of(base.state).pending]
            if seen != expected or branch.pending[-1] != new or len(branch.pending) != 50:
                wrong.append((name, number, seen))

    threads = [threading.Thread(target=work, args=(name,)) for name in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert wrong == []
    assert not any(thread.is_alive() for thread in threads)
