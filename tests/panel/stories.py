"""Sessions as they really run: a loop with tools on a scripted model, joined to the hub, in a thread.

Everything that the panel shows of them comes from the loop's own records. A story goes on until its block
ends; until then its session can be reminded from the test.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import TracebackType
from typing import Self

import tidings as td
from tests.panel.hubs import DEADLINE, HubProcess
from tidings.hub import Attached
from tidings.testing import ScriptedModel, call

Tale = Callable[[td.Session], Awaitable[None]]


class Story:
    """A session that lives in a thread while the block runs; `tale` is what happens in it first."""

    def __init__(self, hub: HubProcess, tale: Tale, session_id: str = "s1", **about: object) -> None:
        self._hub = hub
        self._tale = tale
        self._about = {"agent": "helper", "workspace": str(hub.folder), **about}
        self._log = td.open_log("memory:")
        self.session = td.Session(session_id, log=self._log, agent_id=str(self._about["agent"]))
        self._told = threading.Event()
        self._ending = threading.Event()
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, name=f"story {session_id}")

    def _run(self) -> None:
        try:
            asyncio.run(self._live())
        except Exception as error:  # noqa: BLE001 - handed to the test when its block ends
            self._failure = error
        finally:
            self._told.set()

    async def _live(self) -> None:
        async with Attached(self.session, socket=self._hub.place.socket, **self._about):  # type: ignore[arg-type]
            await self._tale(self.session)
            self._told.set()
            await asyncio.to_thread(self._ending.wait)

    def __enter__(self) -> Self:
        """Begin, and wait until the tale is told."""
        self._thread.start()
        assert self._told.wait(DEADLINE)
        if self._failure is not None:
            raise self._failure
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ending.set()
        self._thread.join(DEADLINE)
        self._log.close()
        if error is None and self._failure is not None:
            raise self._failure


async def nothing(_: td.Session) -> None:
    """A session in which nothing happens."""


async def small(session: td.Session) -> None:
    """Three turns: a reminder shown in two of them, one replaced, one revoked, one kept for the audit."""

    @td.tool(read_only=True)
    def look(where: str = "here") -> str:
        """Look around."""
        news = f"{where}: the tests are green again."
        session.remind(body=news, id=f"green-{where}", dedupe_key="tests", ttl_turns=2)
        session.remind(body="Never mind.", id=f"never-{where}")
        session.revoke_reminder(f"never-{where}")
        return f"nothing {where}"

    session.remind(body="The build is red.", id="red", dedupe_key="build", ttl_turns=2, tags=["build"])
    session.remind(body="The build is green.", id="green", dedupe_key="build", ttl_turns=2, tags=["build"])
    session.remind(body="For the audit only.", id="audit", mode="audit_only")
    model = ScriptedModel([call("look", where="left"), call("look", where="right"), "All is well."])
    await td.agent_loop("Look around.", model=model, tools=[look], session=session, system="Be brief.")


def workspace_story(folder: Path) -> Tale:
    """A working day: files change, tests fail and pass, a review comes in, context runs short."""

    @td.tool(read_only=True)
    def read_file(path: str) -> str:
        """Read a file."""
        return (folder / path).read_text()

    async def tale(session: td.Session) -> None:
        def news(body: str, **more: object) -> None:
            session.remind({"body": body, **more})

        @td.tool(read_only=True)
        def run_tests(only: str = "") -> str:
            """Run the tests."""
            runs.append(only)
            if len(runs) == 1:
                news(
                    "pytest: 2 failed, 41 passed (test_cart.py::test_total, test_cart.py::test_tax).",
                    tags=["tests"], dedupe_key="tests", ttl_turns=3,
                )  # fmt: skip
                return "FAILED tests/test_cart.py::test_total - assert 12.0 == 11.5\n2 failed, 41 passed"
            news("pytest: 43 passed.", tags=["tests"], dedupe_key="tests", ttl_turns=2)
            return "43 passed in 1.92s"

        @td.tool(read_only=True)
        def write_file(path: str, text: str) -> str:
            """Write a file."""
            (folder / path).write_text(text)
            session.remind(
                {
                    "body": f"{path} changed on disk; re-read it before editing.",
                    "tags": ["workspace", "files"], "dedupe_key": f"file:{path}", "ttl_turns": 2,
                },
                producer="mcp",
                origin="tidings/files",
            )  # fmt: skip
            return f"wrote {len(text)} characters"

        runs: list[str] = []
        (folder / "cart.py").write_text("def total(items):\n    return sum(i.price for i in items)\n")
        news("Deploys are frozen until Monday; do not tag a release.", tags=["policy"], id="frozen")
        news("CI run 4711 was cancelled.", tags=["ci"], id="ci-4711")
        session.revoke_reminder("ci-4711")
        news("Nightly report: 3 flaky tests, none of them yours.", mode="audit_only", tags=["ci"])
        model = ScriptedModel(
            [
                call("read_file", path="cart.py"),
                call("run_tests"),
                call("write_file", path="cart.py", text="def total(items, tax=0):\n    ...\n"),
                call("run_tests", only="tests/test_cart.py"),
                call("read_file", path="cart.py"),
                "The totals ignored discounts. I fixed `total` in cart.py; all 43 tests pass, and I left "
                "the release alone because deploys are frozen.",
            ]
        )
        await td.agent_loop(
            "The cart shows a wrong total. Find out why and fix it.",
            model=model,
            tools=[read_file, run_tests, write_file],
            session=session,
            system="You are a careful programmer.",
        )
        news("Review by Ada: please add a test for an empty cart.", tags=["review"], ttl_turns=3)

    return tale
