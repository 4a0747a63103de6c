"""The door of the loop: `agent_loop` runs a task to its end, `llm_call` asks once.

Both work in a session; both render its pending reminders. Only `agent_loop` evaluates providers, runs
tools and passes seams. What happens in an iteration is in `run.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from pathlib import Path
from typing import TypeAlias

from msgspec.structs import replace

from tidings.agent import conversation, store
from tidings.agent.answered import Answered, listening
from tidings.agent.answers import answered, worded
from tidings.agent.arguments import expect, is_listing, is_seconds, is_whole, read_folder
from tidings.agent.happenings import Happenings, ReminderSettings
from tidings.agent.idle import idle
from tidings.agent.leaving import leave
from tidings.agent.models.choose import opened
from tidings.agent.models.forms import Block
from tidings.agent.port import Answer, Model, ModelError
from tidings.agent.providers.facts import Recall
from tidings.agent.registry import Registry
from tidings.agent.result import CUT_SHORT, Compaction, Daemon, LoopResult, OnText, Status
from tidings.agent.run import Run, Stopped, lost_calls
from tidings.agent.session import Session
from tidings.agent.suspending import wakes_up
from tidings.agent.tools.approval import Gate
from tidings.agent.tools.dispatch import DEADLINE, Dispatcher
from tidings.agent.tools.function import Function
from tidings.agent.tools.tool import Tool
from tidings.log.port import EventLog
from tidings.recall.default import recall_facts
from tidings.rendering.pieces import SystemInput, gather
from tidings.rendering.render import render
from tidings.shell.transforms import append_message, mark_fired, post_turn

Task: TypeAlias = str | Sequence[Block]
"""What a user asks for: text, or blocks of text and images."""

MAX_ITERATIONS = 50


def project_recall(
    query: str,
    *,
    namespace: str,
    max_facts: int,
    min_confidence: float,
    kind_filter: Sequence[str] | None,
    root: str | None = None,
) -> object:
    """What `project_facts` asks by default: the facts of the project in `root`, else the current one."""
    return recall_facts(
        query,
        namespace=namespace,
        max_facts=max_facts,
        min_confidence=min_confidence,
        kind_filter=kind_filter or (),
        root=root,
    )


async def agent_loop(
    task: Task | None,
    system: SystemInput = None,
    *,
    model: Model | str,
    tools: Iterable[Tool | Function] = (),
    session: Session | None = None,
    session_id: str | None = None,
    log: EventLog | None = None,
    reminders: ReminderSettings = None,
    registry: Registry | None = None,
    max_iterations: int = MAX_ITERATIONS,
    daemon: Daemon | None = None,
    approval: Gate | None = None,
    compaction: Compaction | None = None,
    context_window: int | None = None,
    workspace: Path | str | None = None,
    tool_deadline: float = DEADLINE,
    recall: Recall | None = project_recall,
    on_text: OnText | None = None,
) -> LoopResult:
    """Work on `task` until the model is done; None goes on with what the session holds.

    `task` is text, or blocks of text and images as in `session.inject`; hooks hear its text.

    Raises:
        CallerError: arguments that cannot be used, or a session in which another loop works;
            HARN-RMD-007 for too many providers.
    """
    if task is not None:
        conversation.user(task)
    _check(
        model=model,
        tools=tools,
        session=session,
        registry=registry,
        max_iterations=max_iterations,
        daemon=daemon,
        approval=approval,
        compaction=compaction,
        context_window=context_window,
        tool_deadline=tool_deadline,
        recall=recall,
        on_text=on_text,
    )
    gather("system", system)
    place = session or Session(session_id, log=log)
    happenings = Happenings(place, registry=registry, settings=reminders, recall=recall)
    dispatcher = Dispatcher(tools, approval=approval, deadline=tool_deadline)
    async with opened(model) as chosen:
        run = Run(
            place,
            chosen,
            dispatcher,
            happenings,
            max_iterations=max_iterations,
            system=system,
            compaction=compaction,
            context_window=context_window,
            workspace=_workspace(workspace, place),
            on_text=on_text,
        )
        with place.working() as run.news, run.news.telling(run.company.hear):
            try:
                return await _play(run, task, daemon)
            finally:
                place.flush()


_KINDS: dict[str, tuple[type | Callable[[object], bool], str]] = {
    "model": (lambda one: isinstance(one, str) or hasattr(one, "answer"), "a name or a model"),
    "tools": (is_listing, "a list of tools and functions"),
    "session": (Session, "a td.Session; an id goes into `session_id`"),
    "registry": (Registry, "a td.Registry"),
    "max_iterations": (is_whole, "a whole number of 1 or more"),
    "daemon": (Daemon, "a td.Daemon"),
    "approval": (Gate, "a td.Gate"),
    "compaction": (Compaction, "a td.Compaction"),
    "context_window": (is_whole, "a whole number of tokens"),
    "tool_deadline": (is_seconds, "seconds above 0"),
    "recall": (callable, "a function"),
    "on_text": (callable, "a function"),
}
_NEEDED = ("model", "tools", "max_iterations", "tool_deadline")


def _check(**given: object) -> None:
    """See that the arguments can be used; those that are not needed may be None."""
    for name, value in given.items():
        if value is not None or name in _NEEDED:
            expect(name, value, *_KINDS[name])


def _workspace(given: Path | str | None, session: Session) -> Path | None:
    """The folder that approval rules take paths to be in: the one given, else the session's anchor."""
    chosen = read_folder("workspace", given) if given else session.anchor
    return Path(chosen) if chosen else None


async def _play(run: Run, task: Task | None, daemon: Daemon | None) -> LoopResult:
    try:
        status = await _begin(run, task) or await _iterate(run, daemon)
        error = CUT_SHORT if status == "cut_short" else None
    except Stopped:
        status, error = "cancelled", None
    except ModelError as failed:
        status, error = "failed", str(failed)
        await run.happenings.happen("session_error", {"error": error, "iteration": run.iteration})
    await leave(run, status)
    return run.result(status, error)


async def _begin(run: Run, task: Task | None) -> Status | None:
    """Say what starts; a hook may refuse the task."""
    words = run.happenings.task = conversation.words(task or "")
    run.close_open_calls()
    run.held = not await wakes_up(run.session, run.happenings)
    await run.happenings.handle(run.session.stored.events)
    await run.happenings.happen("session_start", {"task": words, "iteration": 0})
    if task is None:
        return None
    refused = await run.happenings.happen("user_prompt_submit", {"prompt": words})
    if refused is not None:
        run.text = refused
        return "blocked"
    with run.session.step():
        run.session.keep(append_message(run.session.transcript, conversation.user(task)))
    return None


async def _iterate(run: Run, daemon: Daemon | None) -> Status:
    while run.may_go_on():
        run.iteration += 1
        status = await run.iterate()
        if status == "done" and daemon is not None:
            status = await idle(run, daemon) if run.may_go_on() else None
        if status is not None:
            return status
    return "budget_exhausted"


async def llm_call(
    prompt: str,
    *,
    model: Model | str,
    system: SystemInput = None,
    session: Session | None = None,
    session_id: str | None = None,
    log: EventLog | None = None,
    on_text: OnText | None = None,
) -> Answer:
    """Ask a model once. With a session its pending reminders are rendered, and it counts as a turn.

    Raises:
        CallerError: an empty prompt, or a session in which a loop works.
        ModelError: no usable answer; the session is as it was but for the prompt.
    """
    _check(model=model, session=session, on_text=on_text)
    gather("system", system)
    place = session or Session(session_id, log=log)
    async with opened(model) as chosen:
        with place.working():
            return await _ask_once(prompt, chosen, system, place, on_text)


async def _ask_once(
    prompt: str, chosen: Model, system: SystemInput, place: Session, on_text: OnText | None
) -> Answer:
    asked = conversation.user(prompt)
    with place.step():
        closed = [
            conversation.tool_result(lost.call, lost.outcome) for lost in lost_calls(place.transcript)
        ]
        place.keep(reduce(append_message, [*closed, asked], place.transcript))
    transcript = place.transcript
    request = render(
        chosen.route,
        system=system,
        messages=worded(chosen.wire_messages, transcript.messages),
        reminders=transcript.pending,
        issued=place.stored.issued,
    )
    answer = await answered(chosen, request.body, (), listening(place, on_text))
    turn = place.transcript.turn + 1
    with place.step():
        shown = mark_fired(place.transcript, request, turn=turn).transcript
        kept = append_message(shown, conversation.assistant(answer, chosen.route.wire))
        place.keep(post_turn(kept, turn=turn).transcript)
        place.stored = replace(place.stored, issued=request.issued)
        place.note((), (store.changed(place.stored),))
    if place.observers:
        place.observers.tell(place, Answered(turn, chosen.route, request))
    return answer
