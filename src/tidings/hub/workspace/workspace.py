"""One attached folder: its config, what is kept going for it, and what is wrong with it.

`use` takes a config in: what did not change goes on, the rest is stopped or started. It decides nothing
about when; `attaching.py` does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from tidings.core.records import Record
from tidings.hub.service import Hub
from tidings.hub.workspace import shapes
from tidings.hub.workspace.courier import Courier, write
from tidings.hub.workspace.keeping import Kept, stop
from tidings.hub.workspace.making import Place, Plan, plans
from tidings.hub.workspace.settings import FILE, Config, Sessions
from tidings.hub.workspace.writes import GRACE
from tidings.mcp.host.settings import Clock
from tidings.watchers.own import OwnWrites

WATCHER = "hub.workspace.watcher"

_VOLATILE = frozenset(("_", "SHLVL", "PWD", "OLDPWD", "COLUMNS", "LINES", "TERM", "TMUX_PANE", "WINDOWID"))
"""Variables that differ from shell to shell and mean nothing to a watcher."""


class Running(msgspec.Struct):
    """A plan at work, and since when it is as it is."""

    plan: Plan
    kept: Kept
    since_ms: int

    def goes_on(self, plan: Plan) -> bool:
        """Whether it does what `plan` wants."""
        return plan.same == self.plan.same and self.kept.state != "gave_up"


class Workspace:
    """A folder. Use it in one event loop."""

    def __init__(self, hub: Hub, folder: Path, clock: Clock, now_ms: Callable[[], int]) -> None:
        self.folder = folder
        self.config: Config | None = None
        self.problems: tuple[str, ...] = ()
        self.environ: Mapping[str, str] = {}
        self.own = OwnWrites(folder, grace=GRACE, complete=False)
        self._hub = hub
        self._clock = clock
        self._now_ms = now_ms
        self._sessions = Sessions()
        self._running: dict[str, Running] = {}

    @property
    def kept(self) -> tuple[Kept, ...]:
        """What is kept going, in the order of the config."""
        return tuple(one.kept for one in self._running.values())

    async def use(self, config: Config | None, environ: Mapping[str, str]) -> None:
        """Take a config in; what did not change is left alone."""
        wanted = {} if config is None else {f"{plan.kind} {plan.name}": plan for plan in plans(config)}
        sessions = Sessions() if config is None else config.sessions
        same = _lasting(environ) == _lasting(self.environ) and sessions == self._sessions
        self.config, self.environ, self._sessions = config, environ, sessions
        going = {
            name: one
            for name, one in self._running.items()
            if same and name in wanted and one.goes_on(wanted[name])
        }
        await self._stop([one.kept for name, one in self._running.items() if name not in going])
        self._running = {name: going.get(name) or self._start(plan) for name, plan in wanted.items()}

    async def settled(self) -> None:
        """Wait until each watcher watches, or has failed to."""
        for kept in self.kept:
            await kept.settled.wait()

    async def end(self) -> None:
        """Stop everything."""
        await self._stop(list(self.kept))
        self._running = {}

    def row(self) -> shapes.WorkspaceRow:
        """How it stands."""
        return shapes.WorkspaceRow(
            path=str(self.folder),
            config=None if self.config is None else str(self.folder / FILE),
            watchers=[_row(one) for one in self._running.values()],
            problems=list(self.problems),
        )

    async def _stop(self, kept: list[Kept]) -> None:
        for name in await stop(kept):
            self._tell({"name": name, "state": "stopped", "message": "it did not end in time"})

    def _start(self, plan: Plan) -> Running:
        place = Place(self.folder, self.environ, self.own)
        running: Running

        def turned(kept: Kept) -> None:
            running.since_ms = self._now_ms()
            if kept.state != "starting":
                about = {"kind": plan.kind, "name": plan.name, "state": kept.state, "message": kept.message}
                self._tell(about)

        courier = Courier(
            self._hub, str(self.folder), plan, self._sessions, self._clock.now, lambda text: kept.say(text)
        )
        kept = Kept(lambda: plan.make(place), courier.deliver, turned, name=plan.name, clock=self._clock)
        running = Running(plan, kept, self._now_ms())
        kept.start()
        return running

    def _tell(self, about: Mapping[str, object]) -> None:
        write(self._hub, [Record(WATCHER, {"workspace": str(self.folder), **about})])


def _row(one: Running) -> shapes.WatcherRow:
    return shapes.WatcherRow(
        kind=one.plan.kind,
        name=one.plan.name,
        state=one.kept.state,
        since=one.since_ms,
        last_message=one.kept.message,
    )


def _lasting(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environ.items() if name not in _VOLATILE}
