"""Room in the context window: providers are told when it fills up, and a full one is compacted.

What is measured and what a shorter conversation looks like is in `budget.py` and `core/compaction.py`; this
page only acts on it, in one commit, before a request of `run.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from tidings.agent import store
from tidings.agent.budget import SUMMARY_PROMPT, pressure, summarised
from tidings.agent.port import Usage
from tidings.agent.result import Compaction
from tidings.core.compaction import Compactor
from tidings.core.reminder import Payload
from tidings.rendering.render import render
from tidings.shell.transforms import compact as compacted

if TYPE_CHECKING:
    from tidings.agent.run import Run


async def make_room(run: Run) -> None:
    """Tell providers when the window fills up, and compact when it is too full."""
    use = pressure(run.last_usage, run.model.route, run.window or run.happenings.window)
    if use is None:
        return
    if use.ratio >= run.happenings.threshold:
        told = {**msgspec.structs.asdict(use), "iteration": run.iteration}
        await run.happenings.happen("on_budget_threshold", told)
    if run.compaction is not None and use.ratio >= run.compaction.at:
        await compact(run, run.compaction)


async def compact(run: Run, settings: Compaction) -> None:
    """Make the conversation shorter, unless a hook objects."""
    before = len(run.session.transcript.messages)
    if await run.happenings.happen("pre_compact", {"messages": before}) is not None:
        return
    await run.checkpoint("pre_compact")
    summary = await _summary(run) if settings.strategy == "summary" else ""
    with run.session.step():
        transcript = run.session.transcript
        done = compacted(
            transcript,
            strategy="truncate" if settings.strategy == "truncate" else "custom",
            custom_compactor=_compactor(settings, summary),
            keep=settings.keep,
            turn=transcript.turn,
        )
        run.session.keep(done.transcript)
        run.session.stored = replace(run.session.stored, issued=(), pressure="")
        run.session.note((), (store.changed(run.session.stored),))
    run.last_usage = Usage()
    await run.checkpoint("post_compact")
    payload: Payload = {"archived_messages": done.archived_messages, "summary": summary}
    await run.happenings.happen("post_compact", {**payload, "iteration": run.iteration})


async def _summary(run: Run) -> str:
    """Ask the model for a summary; it renders no reminder and is no turn (decision 1)."""
    asked = [*run.session.transcript.messages, {"role": "user", "content": SUMMARY_PROMPT}]
    request = render(run.model.route, system=run.system, messages=run.model.wire_messages(asked))
    answer = await run.or_stopped(run.model.answer(request.body))
    run.usage += answer.usage
    return answer.text


def _compactor(settings: Compaction, summary: str) -> Compactor | None:
    if settings.strategy == "summary":
        return lambda messages, _: summarised(messages, settings.keep, summary)
    return settings.compactor
