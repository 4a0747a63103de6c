"""Doing in a session what the hub asks to have taken back, each question once.

The hub asks again until it has heard the answer, so that the last answers are remembered: a clear that is
asked twice takes nothing that came in between. `Attached` calls this; with a host that keeps reminders
somewhere else, its own function takes the place of `withdraw_from`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Protocol, TypeAlias, get_args

import msgspec

from tidings.bridge.rpc import INTERNAL_ERROR, RpcError
from tidings.core.mailbox import RevokeError
from tidings.core.producers import shown
from tidings.core.reminder import Payload
from tidings.errors import CallerError
from tidings.hub.withdrawal import Chosen, Result, Revoked, WithdrawalRow

REMEMBERED = 1_000
"""How many of the last answers are remembered; far more than are open at once."""


class Done(msgspec.Struct, frozen=True):
    """What was done about a question."""

    result: Result
    removed_count: int = 0


Withdraw: TypeAlias = Callable[[WithdrawalRow], Awaitable[Done]]
Note: TypeAlias = Callable[[str, CallerError | RpcError], None]


class Keeper(Protocol):
    """What has reminders that can be taken back: a session of the loop, or the interposer's desk."""

    def revoke_reminder(self, reminder_id: str) -> Payload:
        """Take a queued one back."""
        ...

    def clear(self, selector: Payload, /) -> int:
        """Remove those that match, queued and pending; gives how many."""
        ...


def withdraw_from(keeper: Keeper) -> Withdraw:
    """How to take back what `keeper` has."""
    return partial(_withdraw, keeper)


async def _withdraw(keeper: Keeper, row: WithdrawalRow) -> Done:
    if row.revoke is None:
        return Done("cleared", keeper.clear(selector_of(row.clear or Chosen())))
    try:
        return revoked(keeper.revoke_reminder(row.revoke))
    except RevokeError as error:
        return Done(_known(error.reason))


def revoked(answer: Mapping[str, object] | None) -> Done:
    """What the answer to `session/revoke_reminder` says.

    Raises:
        RpcError: nothing that is known.
    """
    status = _known((answer or {}).get("status"))
    return Done(status, int(status == "revoked"))


def refused(error: RpcError) -> Done:
    """What the refusal of `session/revoke_reminder` says.

    Raises:
        RpcError: nothing that is known.
    """
    reason = (error.data or {}).get("reason")
    if reason not in get_args(Revoked):
        raise error
    return Done(_known(reason))


def cleared(answer: Mapping[str, object] | None) -> Done:
    """What the answer to `session/clear_reminders` says.

    Raises:
        RpcError: it does not tell how many.
    """
    count = (answer or {}).get("removedCount")
    if not isinstance(count, int) or count < 0:
        raise RpcError(INTERNAL_ERROR, f"`removedCount` is {shown(count)}; a clear tells how many left")
    return Done("cleared", count)


def selector_of(chosen: Chosen) -> Payload:
    """The selector of a clear, as sessions take it."""
    return {name: value for name, value in msgspec.structs.asdict(chosen).items() if value is not None}


def _known(status: object) -> Revoked:
    try:
        known: Revoked = msgspec.convert(status, Revoked)
    except msgspec.ValidationError as error:
        text = f"a revoke gave {shown(status)}; it is one of {', '.join(get_args(Revoked))}"
        raise RpcError(INTERNAL_ERROR, text) from error
    return known


class Compliance:
    """Answers the questions of a hub. `withdraw` does what they ask; `note` hears what is refused."""

    def __init__(self, withdraw: Withdraw, note: Note) -> None:
        self._withdraw = withdraw
        self._note = note
        self._done: OrderedDict[str, Done] = OrderedDict()

    async def answer(self, row: WithdrawalRow) -> Payload:
        """What to tell the hub about a question, which is done now unless it was before."""
        done = self._done.get(row.withdrawal_id) or await self._do(row)
        self._done[row.withdrawal_id] = done
        while len(self._done) > REMEMBERED:
            self._done.popitem(last=False)
        return {
            "withdrawalId": row.withdrawal_id,
            "result": done.result,
            "removedCount": done.removed_count,
        }

    async def _do(self, row: WithdrawalRow) -> Done:
        try:
            return await self._withdraw(row)
        except (CallerError, RpcError) as error:
            self._note(row.revoke or "", error)
            return Done("refused")
