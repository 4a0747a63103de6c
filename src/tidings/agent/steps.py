"""Steps of a pipeline, told to hooks and providers: the loop's own batch of tools, and a user's steps.

`run_step` is for code around the loop: a check, a build, a review. It raises `pre_step`, calls the
function, raises `post_step` with what came of it, and puts what hooks and providers say into the session.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar, TypeVarTuple, overload

from tidings.agent.arguments import expect_text
from tidings.agent.happenings import Happenings, ReminderSettings
from tidings.agent.hooks import told
from tidings.agent.port import ToolCall
from tidings.agent.registry import Registry
from tidings.agent.session import Session
from tidings.agent.tools.receipt import Receipt
from tidings.core.reminder import Payload
from tidings.errors import CallerError

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

TOOLS = "tools"
"""The name of the loop's own step: the batch of tools of one iteration."""


def before_tools(iteration: int, calls: Sequence[ToolCall]) -> Payload:
    """What `pre_step` says of a batch."""
    return {"step": TOOLS, "iteration": iteration, "tools": [call.name for call in calls]}


def after_tools(iteration: int, receipts: Sequence[Receipt]) -> Payload:
    """What `post_step` says of a batch: which calls succeeded, and not what they gave.

    The results were told call by call (`post_tool_use`); here they would be reported twice.
    """
    return {
        **before_tools(iteration, [receipt.call for receipt in receipts]),
        "succeeded": [receipt.outcome.ok for receipt in receipts],
        "result": None,
        "error": None,
    }


@overload
async def run_step(
    name: str,
    function: Callable[[*Ts], Awaitable[T]],
    *args: *Ts,
    session: Session,
    registry: Registry | None = None,
    reminders: ReminderSettings = None,
) -> T: ...
@overload
async def run_step(
    name: str,
    function: Callable[[*Ts], T],
    *args: *Ts,
    session: Session,
    registry: Registry | None = None,
    reminders: ReminderSettings = None,
) -> T: ...
async def run_step(
    name: str,
    function: Callable[..., object],
    *args: object,
    session: Session,
    registry: Registry | None = None,
    reminders: ReminderSettings = None,
) -> object:
    """What `function(*args)` gives, awaited if it is awaitable; hooks and providers hear of it.

    A plain function runs in the event loop's thread. Their reminders are pending in `session` for its
    next request; `registry` and `reminders` are those of `agent_loop`.

    Raises:
        CallerError: a blank name; HARN-RMD-007 for too many providers.
        Exception: whatever the function raises, after `post_step` told it.
    """
    expect_text(name=name)
    if not name.strip():
        raise CallerError(f"a step's `name` must not be blank; got {name!r}")
    happenings = Happenings(session, registry=registry, settings=reminders)
    about: Payload = {"step": name, "iteration": None, "tools": []}
    await happenings.happen("pre_step", about)
    try:
        given = function(*args)
        result = await given if inspect.isawaitable(given) else given
    except Exception as error:
        await happenings.happen("post_step", {**about, **_outcome(None, told(error))})
        raise
    await happenings.happen("post_step", {**about, **_outcome(result, None)})
    return result


def _outcome(result: object, error: str | None) -> Payload:
    return {"succeeded": [], "result": result, "error": error}
