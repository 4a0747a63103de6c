"""The way of a watcher's news to the sessions: as external reminders through the hub, within a budget.

Each goes to everybody in the folder, or to the tags that the config names. Only the newest with a dedupe
key stays on its way: an older one that nobody has is taken back. What goes beyond the budget is dropped,
with a record for the first of a spell and one for the rest.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import TypeAlias

from tidings.core.records import Record
from tidings.core.reminder import Payload
from tidings.core.seams import DEFAULT_MODE
from tidings.errors import CallerError, LogError
from tidings.hub.rows import revocation
from tidings.hub.service import Hub
from tidings.hub.workspace.making import Plan
from tidings.hub.workspace.relaying import Passed
from tidings.hub.workspace.settings import Sessions
from tidings.mcp.budget import Meter
from tidings.mcp.host.tally import Tally
from tidings.shell.ids import new_id
from tidings.watchers.told import Noticed, Told

NOTICED = "hub.workspace.noticed"
REMEMBERED = 1_000
"""How many dedupe keys of one watcher are remembered."""

Said: TypeAlias = Callable[[str], None]
_Key: TypeAlias = tuple[str, str]

_logger = logging.getLogger(__name__)


class Courier:
    """Takes the news of one watcher to the hub. `said` hears each line in short."""

    def __init__(
        self, hub: Hub, folder: str, plan: Plan, sessions: Sessions, now: Callable[[], float], said: Said
    ) -> None:
        self._hub = hub
        self._folder = folder
        self._plan = plan
        self._sessions = sessions
        self._now = now
        self._said = said
        self._meter = Meter(plan.limits.budget(), now())
        self._tally = Tally(plan.origin)
        self._last: OrderedDict[_Key, str] = OrderedDict()

    async def deliver(self, news: object) -> None:
        """Take one piece of news where it belongs; what cannot be delivered is recorded."""
        if isinstance(news, Noticed):
            self._note(news)
            return
        options, mode = self._asked(news)
        self._said(str(options["body"]))
        if not self._meter.spend(len(str(options["body"]).encode()), self._now()).fits:
            self._drop("budget")
            return
        if len(self._sessions.tags) > 1 and not options.get("dedupe_key"):
            options["dedupe_key"] = f"once:{new_id()}"  # a session with two of the tags shows it once
        try:
            for to in self._addresses():
                await self._send(options, mode, to)
        except (CallerError, LogError) as error:
            self._drop("failed", detail=str(error))
            return
        self._write(self._tally.tell())

    def _asked(self, news: object) -> tuple[Payload, str]:
        """The options and the mode of a reminder; a watcher's own news uses what it is granted."""
        if isinstance(news, Passed):
            return dict(news.options), news.mode
        assert isinstance(news, Told)
        granted = self._plan.grants
        more: Payload = {"preserve_on_compact": True} if "preserve_on_compact" in granted else {}
        more |= {"propagate": "all"} if "propagate_all" in granted else {}
        mode = "interrupt_immediate" if "interrupt_immediate" in granted else DEFAULT_MODE
        return {**news.options(), **more}, mode

    def _addresses(self) -> Iterator[Payload]:
        if not self._sessions.tags:
            yield {"workspace": self._folder}
        for tag in self._sessions.tags:
            yield {"tag": tag}

    async def _send(self, options: Payload, mode: str, to: Payload) -> None:
        """Send it under an id of the hub's: ids of servers are of their own namespaces."""
        key = str(options.get("dedupe_key") or "")
        params: Payload = {
            **options,
            "id": new_id(),
            "mode": mode,
            "to": to,
            "deliverWithin": self._sessions.deliver_within,
        }
        sent = await self._hub.remind(params, origin=self._plan.origin, grants=self._plan.grants)
        if key:
            self._replace((key, str(to)), sent.reminder_id)

    def _replace(self, place: _Key, reminder_id: str) -> None:
        """Take back the one before, from whoever has not got it."""
        before = self._last.pop(place, None)
        self._last[place] = reminder_id
        if len(self._last) > REMEMBERED:
            self._last.popitem(last=False)
        found = None if before is None else self._hub.board.open.get(before)
        if found is not None:
            self._write(revocation(found))  # where it is already, the newer one replaces it

    def _drop(self, reason: str, **more: object) -> None:
        told = self._tally.drop(reason, None, workspace=self._folder, **more)
        if told is not None:
            self._write([told])

    def _note(self, news: Noticed) -> None:
        self._said(news.message)
        about: Payload = {
            "workspace": self._folder,
            "name": self._plan.name,
            "code": news.code,
            "message": news.message,
            "details": news.details,
        }
        self._write([Record(NOTICED, about)])

    def _write(self, records: list[Record]) -> None:
        write(self._hub, records)


def write(hub: Hub, records: list[Record]) -> None:
    """Put records into the hub's log; a log that cannot be written costs no watcher."""
    try:
        hub.store.commit(records)
    except LogError as error:
        _logger.warning("hub: what a watcher noticed could not be written: %s", error)
