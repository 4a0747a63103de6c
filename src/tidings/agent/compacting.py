"""Room in the context window: providers are told when it fills up, and a full one is compacted.

What is measured and what a shorter conversation looks like is in `budget.py` and `core/compaction.py`; this
page only acts on it, in one commit, before a request of `run.py`. A compaction that cannot be used is
recorded and leaves everything as it was.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from tidings.agent import store
from tidings.agent.answers import answered, worded
from tidings.agent.budget import SUMMARY_PROMPT, pressure, shortened, summarised
from tidings.agent.calling import Slot, call
from tidings.agent.conversation import check_pairs, to_wire
from tidings.agent.hooks import failure, told
from tidings.agent.port import Usage
from tidings.agent.result import Compaction
from tidings.core import compaction
from tidings.core.compaction import Compactor
from tidings.core.reminder import Payload
from tidings.errors import CallerError
from tidings.rendering.render import render
from tidings.shell.transforms import compact as compacted

if TYPE_CHECKING:
    from tidings.agent.run import Run

COMPACTOR_DEADLINE = 60.0
"""Seconds that a compactor of one's own may take."""


class SummaryError(CallerError):
    """The model gave no summary that could stand for the conversation."""


class CompactorError(CallerError):
    """A compactor of the user's failed."""


async def make_room(run: Run) -> bool:
    """Tell providers when the window fills up, and compact when it is too full; gives whether it was."""
    use = pressure(run.last_usage, run.model.route, run.window or run.happenings.window)
    if use is None:
        return False
    if use.ratio >= run.happenings.threshold:
        told = {**msgspec.structs.asdict(use), "iteration": run.iteration}
        await run.happenings.happen("on_budget_threshold", told)
    if run.compaction is None or use.ratio < run.compaction.at:
        return False
    await compact(run, run.compaction)
    return True


async def compact(run: Run, settings: Compaction) -> None:
    """Make the conversation shorter, unless a hook objects or nothing usable comes of it."""
    before = len(run.session.transcript.messages)
    if await run.happenings.happen("pre_compact", {"messages": before}) is not None:
        return
    await run.checkpoint("pre_compact")
    try:
        summary = await _summary(run) if settings.strategy == "summary" else ""
        archived = _replace(run, await _compactor(run, settings, summary))
    except CallerError as error:
        with run.session.step():
            run.session.note((failure(f"compaction:{settings.strategy}", "pre_compact", error).record(),))
        return
    await run.checkpoint("post_compact")
    payload: Payload = {"archived_messages": archived, "summary": summary}
    await run.happenings.happen("post_compact", {**payload, "iteration": run.iteration})


def _replace(run: Run, compactor: Compactor) -> int:
    """Put the shorter conversation in place; gives how many messages left."""
    with run.session.step():
        transcript = run.session.transcript
        tried = compaction.compact(
            transcript, strategy="custom", custom_compactor=compactor, turn=transcript.turn
        )
        to_wire("plain", tried.transcript.messages)
        check_pairs(tried.transcript.messages)
        done = compacted(transcript, strategy="custom", custom_compactor=compactor, turn=transcript.turn)
        run.session.keep(done.transcript)
        run.session.stored = replace(run.session.stored, issued=(), pressure="")
        run.session.note((), (store.changed(run.session.stored),))
    run.last_usage = Usage()
    return done.archived_messages


async def _summary(run: Run) -> str:
    """Ask the model for a summary; it renders no reminder and is no turn (decision 1)."""
    asked = [*run.session.transcript.messages, {"role": "user", "content": SUMMARY_PROMPT}]
    request = render(run.model.route, system=run.system, messages=worded(run.model.wire_messages, asked))
    answer = await run.or_stopped(answered(run.model, request.body))
    run.usage += answer.usage
    if not answer.text.strip() or answer.stop in ("length", "refused"):
        raise SummaryError(f"the model gave no whole summary: it ended with {answer.stop!r}")
    return answer.text


async def _compactor(run: Run, settings: Compaction, summary: str) -> Compactor:
    """What gives the shorter messages; one of the user's has run by then, outside every lock."""
    if settings.strategy == "summary":
        return lambda messages, _: summarised(messages, settings.keep, summary)
    if settings.compactor is None:
        return lambda messages, _: shortened(messages, settings.keep)
    transcript = run.session.transcript
    survivors = compaction.compact(transcript, turn=transcript.turn).reminders
    bound = partial(settings.compactor, transcript.messages, survivors)
    try:
        made = await call(bound, deadline=COMPACTOR_DEADLINE, slot=Slot())
    except Exception as error:
        raise CompactorError(told(error)) from error
    return lambda *_: made
