"""`CommandWatcher`: a command that is run again when files change, and told when its verdict turns."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path

from tidings.core.redaction import known_secrets, redact
from tidings.errors import CallerError
from tidings.watchers.causes import changes, every
from tidings.watchers.commanding import Command, First, Report, name_of, tell
from tidings.watchers.matching import Patterns
from tidings.watchers.own import OwnWrites
from tidings.watchers.process import DEADLINE, Run, run_command
from tidings.watchers.rerun import Cause, Pace, reruns
from tidings.watchers.told import News
from tidings.watchers.tree import Tree


class CommandWatcher:
    """Runs `argv` in `root` now, and again when files change or every `interval` seconds.

    `patterns` (globs as in .gitignore) say which files. A run that a change made stale is killed with all
    its children; one that does not end within `deadline` seconds counts as failing. `report="every"` tells
    every run, not only turns. `environ` is the environment of its runs, ours unless given.

    Raises:
        CallerError: an empty command, a folder that is none, or a time that is not positive.
    """

    def __init__(
        self,
        argv: Sequence[str],
        root: Path | str = ".",
        *,
        patterns: tuple[str, ...] = (),
        interval: float | None = None,
        deadline: float = DEADLINE,
        report: Report = "turns",
        first: First = "failing",
        own: OwnWrites | None = None,
        poll: bool | None = None,
        environ: Mapping[str, str] | None = None,
        name: str | None = None,
    ) -> None:
        self._trigger = Trigger(argv, root, patterns, interval, deadline, own, poll)
        self._environ = environ
        words = shown(argv, environ)
        self.name = name or name_of(words)
        self.ready = self._trigger.tree.ready
        """Set once changes are seen."""
        self._command = Command(argv=words, name=self.name, report=report, first=first)

    async def watch(self) -> AsyncGenerator[News, None]:
        """What its runs turn into."""
        before: Run | None = None
        async with aclosing(reruns(self._trigger.causes(), self._run, Pace())) as runs:
            async for ran in runs:
                told = tell(self._command, before, ran.result, ran.cause)
                before = ran.result
                if told is not None:
                    yield told

    async def _run(self) -> Run:
        trigger = self._trigger
        await trigger.tree.ready.wait()
        return await run_command(
            trigger.argv, cwd=trigger.tree.root, deadline=trigger.deadline, environ=self._environ
        )


def shown(argv: Sequence[str], environ: Mapping[str, str] | None) -> tuple[str, ...]:
    """The words of a command without the secrets that its environment, or ours, knows."""
    known = known_secrets(os.environ if environ is None else environ)
    return tuple(redact(word, known) for word in argv)


class Trigger:
    """When and where a command is run: what `CommandWatcher` and `SuiteWatcher` share."""

    def __init__(
        self,
        argv: Sequence[str],
        root: Path | str,
        patterns: tuple[str, ...],
        interval: float | None,
        deadline: float,
        own: OwnWrites | None,
        poll: bool | None,
    ) -> None:
        if not argv or not argv[0]:
            raise CallerError("the command is empty; write it behind --, such as: -- cargo check")
        for field, value in (("interval", interval), ("deadline", deadline)):
            if value is not None and value <= 0:
                raise CallerError(f"`{field}` must be more than 0 seconds; got {value!r}")
        self.argv = tuple(argv)
        self.tree = Tree(root, own=own, poll=poll)
        self.deadline = deadline
        self._patterns = Patterns(patterns)
        self._interval = interval
        if interval:
            self.tree.ready.set()

    def causes(self) -> AsyncGenerator[Cause, None]:
        """The clock if there is an interval, else the files."""
        return every(self._interval) if self._interval else changes(self.tree, self._patterns)
