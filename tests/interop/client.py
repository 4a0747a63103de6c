"""The npm SDK's client: starts `driver.mjs` on an agent, sends what a test asks, keeps what it hears.

Every wait has a deadline, and what is left of the process group at the end is killed. Used by every test
that needs an editor; the agent may be ours, a real one, or a real one behind the interposer.
"""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from tests.interop.agents import Room, node
from tests.interop.install import installed

DEADLINE = 90.0
"""Seconds that one step of a real agent may take on a busy machine."""

LONGEST_LINE = 32 * 1024 * 1024
DRIVER = Path(__file__).parent / "driver.mjs"

Event = dict[str, Any]


class Refused(Exception):
    """The agent answered a request with an error."""

    def __init__(self, method: str, error: Mapping[str, Any]) -> None:
        super().__init__(f"{method}: {error}")
        self.code = error.get("code")
        self.data = error.get("data")


class Client:
    """A connection of the SDK's client; use as `async with`."""

    def __init__(self, command: Sequence[str], *, env: Mapping[str, str], cwd: Path) -> None:
        self.events: list[Event] = []
        self.complaints = ""
        self._command = list(command)
        self._env = dict(env)
        self._cwd = cwd
        self._heard = asyncio.Condition()
        self._number = 0

    async def __aenter__(self) -> Client:
        self._process = await asyncio.create_subprocess_exec(
            *self._command,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            env=self._env,
            cwd=self._cwd,
            limit=LONGEST_LINE,
            start_new_session=True,
        )
        self._tasks = [asyncio.create_task(self._listen()), asyncio.create_task(self._complain())]
        return self

    async def __aexit__(self, *_: object) -> None:
        try:
            await close(self._process)
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _listen(self) -> None:
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            async with self._heard:
                self.events.append(msgspec.json.decode(line))
                self._heard.notify_all()
        async with self._heard:
            self.events.append({"event": "gone"})
            self._heard.notify_all()

    async def _complain(self) -> None:
        assert self._process.stderr is not None
        async for line in self._process.stderr:
            self.complaints += line.decode(errors="replace")

    def _write(self, order: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(msgspec.json.encode(order) + b"\n")

    def send(self, method: str, params: Mapping[str, Any]) -> int:
        """Send a request and do not wait; gives its number for `reply`."""
        self._number += 1
        self._write({"id": self._number, "method": method, "params": params})
        return self._number

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Send a notification."""
        self._write({"method": method, "params": params})

    async def until(
        self, wanted: Callable[[Event], bool], what: str, *, deadline: float = DEADLINE
    ) -> Event:
        """The first event of all that is `wanted`.

        Raises:
            AssertionError: it did not come before the deadline, or before the agent left.
        """
        try:
            async with asyncio.timeout(deadline), self._heard:
                while True:
                    found = next((event for event in self.events if wanted(event)), None)
                    if found is not None:
                        return found
                    if self.events and self.events[-1]["event"] == "gone":
                        raise AssertionError(f"the client left before {what}: {self.story()}")
                    await self._heard.wait()
        except TimeoutError as error:
            raise AssertionError(f"no {what} within {deadline:g} s: {self.story()}") from error

    async def reply(self, number: int, method: str) -> Any:
        """The result of the request with this number.

        Raises:
            Refused: the agent answered with an error.
        """
        event = await self.until(
            lambda event: event["event"] == "reply" and event["id"] == number, f"reply to {method}"
        )
        if "error" in event:
            raise Refused(method, event["error"])
        return event["result"]

    async def request(self, method: str, params: Mapping[str, Any]) -> Any:
        """Send a request and wait for its result.

        Raises:
            Refused: the agent answered with an error.
        """
        return await self.reply(self.send(method, params), method)

    async def initialize(self, capabilities: Mapping[str, Any] | None = None) -> Any:
        """Begin the connection; gives the agent's answer."""
        return await self.request(
            "initialize",
            {
                "protocolVersion": 1,
                "clientCapabilities": dict(capabilities or {}),
                "clientInfo": {"name": "tidings-interop", "version": "1"},
            },
        )

    async def new_session(self, cwd: Path) -> str:
        """A new session in `cwd`; gives its id."""
        made = await self.request("session/new", {"cwd": str(cwd), "mcpServers": []})
        return str(made["sessionId"])

    def send_prompt(self, session_id: str, text: str) -> int:
        """Send a prompt and do not wait."""
        return self.send(
            "session/prompt", {"sessionId": session_id, "prompt": [{"type": "text", "text": text}]}
        )

    async def prompt(self, session_id: str, text: str) -> Any:
        """Send a prompt and wait for the end of the turn."""
        return await self.reply(self.send_prompt(session_id, text), "session/prompt")

    def updates(self, kind: str | None = None) -> list[dict[str, Any]]:
        """The updates that the SDK let through."""
        found = [event["params"]["update"] for event in self.events if event["event"] == "update"]
        return [update for update in found if kind is None or update["sessionUpdate"] == kind]

    def wire_updates(self, prefix: str = "") -> list[dict[str, Any]]:
        """The updates as they came over the wire, known to the SDK or not."""
        messages = [event["message"] for event in self.events if event["event"] == "wire"]
        found = [each["params"]["update"] for each in messages if each.get("method") == "session/update"]
        return [update for update in found if update["sessionUpdate"].startswith(prefix)]

    def said(self) -> str:
        """What the agent said in its message chunks."""
        chunks = self.updates("agent_message_chunk")
        return "".join(str(chunk["content"].get("text", "")) for chunk in chunks)

    def story(self) -> str:
        """The last events and complaints, for a failing test."""
        last = [msgspec.json.encode(event)[:600].decode(errors="replace") for event in self.events[-12:]]
        return "\n".join([*last, "stderr:", self.complaints[-3000:]])


def sdk_client(command: Sequence[str], room: Room, more: Mapping[str, str] | None = None) -> Client:
    """The SDK's client on the agent that `command` starts."""
    sdk = installed()["@agentclientprotocol/sdk"].path / "dist" / "v1" / "stable" / "acp.js"
    driven = [str(node()), str(DRIVER), str(sdk), *command]
    return Client(driven, env=room.environment(more), cwd=room.work)


async def run_command(
    command: Sequence[str], room: Room, more: Mapping[str, str] | None = None, *, quiet: bool = False
) -> str:
    """Run a command to its end; gives what it printed. A `quiet` one may print nothing to stderr.

    Raises:
        AssertionError: it failed, or was not done before the deadline.
    """
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=PIPE,
        env=room.environment(more),
        cwd=room.work,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(DEADLINE):
            out, complaints = await process.communicate()
    except TimeoutError as error:
        raise AssertionError(f"{command} was not done within {DEADLINE:g} s") from error
    finally:
        kill_group(process.pid)
    assert process.returncode == 0, (command, out, complaints)
    assert not (quiet and complaints), complaints.decode()
    return out.decode()


async def close(process: Process, *, grace: float = 20.0) -> None:
    """End a process by closing its stdin; after `grace` seconds its whole group is killed."""
    try:
        async with asyncio.timeout(grace):
            assert process.stdin is not None
            process.stdin.close()
            await process.wait()
    except TimeoutError:  # it had its time, and is killed below
        return
    finally:
        kill_group(process.pid)
        await process.wait()


def kill_group(pid: int) -> None:
    """Kill what is left of the process group that `pid` leads."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:  # all of it has gone: what we wanted
        return
