"""`SuiteWatcher`: a test suite that is run again when files change, and told by what turned."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from xml.sax.saxutils import escape

import msgspec

from tidings.core.redaction import known_secrets, without_known
from tidings.watchers.command import Trigger, shown
from tidings.watchers.commanding import Command, failing_lines, how, name_of
from tidings.watchers.comparing import History
from tidings.watchers.own import OwnWrites
from tidings.watchers.process import DEADLINE, Run, run_command
from tidings.watchers.reports.reading import read_file, read_output
from tidings.watchers.reports.report import Report
from tidings.watchers.rerun import Pace, reruns
from tidings.watchers.runners import Runner, find_runner, runner_of
from tidings.watchers.testing import TAGS, TTL, tell
from tidings.watchers.told import News, Told

LIMIT = 2_000_000
"""Characters of a runner's output that are kept."""
LARGEST_REPORT = 50_000_000


class Suites(msgspec.Struct, frozen=True):
    """A finished run, and its report if it left one."""

    run: Run
    report: Report | None


class SuiteWatcher:
    """Runs the tests in `root` now and at each change, and tells which turned red or green.

    Without `argv` the project's own runner is found. Reads pytest, go test, cargo test, jest and vitest.
    `environ` is the environment of its runs, ours unless given.

    Raises:
        CallerError: no runner is found, or a setting that cannot be used.
    """

    def __init__(
        self,
        argv: Sequence[str] | None = None,
        root: Path | str = ".",
        *,
        patterns: tuple[str, ...] = (),
        interval: float | None = None,
        deadline: float = DEADLINE,
        own: OwnWrites | None = None,
        poll: bool | None = None,
        environ: Mapping[str, str] | None = None,
        name: str | None = None,
    ) -> None:
        self._environ = os.environ if environ is None else environ
        self._runner: Runner = runner_of(argv) if argv else find_runner(Path(root))
        self._trigger = Trigger(self._runner.argv, root, patterns, interval, deadline, own, poll)
        words = shown(self._runner.argv, environ)
        self.name = name or name_of(words)
        self.ready = self._trigger.tree.ready
        """Set once changes are seen."""
        self._title = Command(argv=words, name=self.name).title

    async def watch(self) -> AsyncGenerator[News, None]:
        """What turns, run by run."""
        history, unread = History(), False
        async with aclosing(reruns(self._trigger.causes(), self._run, Pace())) as runs:
            async for ran in runs:
                report, run = ran.result.report, ran.result.run
                if report is None:
                    if not unread:
                        yield unreadable(self._title, run)
                    unread = True
                    continue
                if unread:
                    yield Told(f"{self._title} can be run again.", "test:run", TAGS, TTL)
                unread, first = False, history.first
                for told in tell(history.take(report), first=first):
                    yield told

    async def _run(self) -> Suites:
        root = self._trigger.tree.root
        await self._trigger.tree.ready.wait()
        with tempfile.TemporaryDirectory(prefix="tidings-tests-") as folder:
            report = Path(folder) / "report"
            run = await run_command(
                self._runner.arguments(report),
                cwd=root,
                deadline=self._trigger.deadline,
                limit=LIMIT,
                environ=self._environ,
                more=self._runner.environment(report, self._environ),
            )
            found = await asyncio.to_thread(read_report, run, report, root, self._environ)
            return Suites(run, found)


def read_report(run: Run, file: Path, root: Path, environ: Mapping[str, str] = os.environ) -> Report | None:
    """The report that a run left in its file, else in its output; a run that was stopped has none."""
    if run.end in ("timed_out", "not_started"):
        return None
    found = None
    if file.is_file() and file.stat().st_size <= LARGEST_REPORT:
        known = [form for value in known_secrets(environ) for form in written(value)]
        found = read_file(without_known(file.read_text(errors="replace"), known), str(root))
    report = found or read_output(run.text, str(root))
    if report is None or not _failed_unsaid(run, report):
        return report
    return None


def written(value: str) -> set[str]:
    """The ways in which a value may stand in a report: as it is, in XML, in JSON."""
    escaped = escape(value)
    return {value, escaped, escaped.replace('"', "&quot;"), msgspec.json.encode(value).decode()[1:-1]}


def _failed_unsaid(run: Run, report: Report) -> bool:
    """Whether the run failed though its report knows nothing bad: a crash, a wrong option."""
    bad = report.broken or any(one.outcome == "failed" for one in report.cases)
    return not run.passed and not bad


def unreadable(title: str, run: Run) -> Told:
    """A run that left nothing to read."""
    ended = "ended without a report that can be read" if run.passed else how(run)
    lines = [f"- {line}" for line in failing_lines(title, run)]
    return Told("\n".join((f"The tests gave no result: {title} {ended}.", *lines)), "test:run", TAGS, TTL)
