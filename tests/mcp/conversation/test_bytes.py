"""What servers get, byte by byte: real processes that write down everything they read, and the real loop.

Words are looked for that stand nowhere else. In both eras and both forms.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.mcp.conversation.asked import play
from tests.mcp.conversation.server import memory
from tests.mcp.conversation.test_abuse import QUICK, fake
from tidings.agent.loop import agent_loop
from tidings.agent.registry import Registry
from tidings.agent.session import Session
from tidings.agent.tools.approval import Gate
from tidings.agent.tools.function import as_tool
from tidings.agent.tools.rules import Rule
from tidings.log.memory import MemoryLog
from tidings.mcp import reminders_of, serving
from tidings.mcp.config import Era, Server
from tidings.mcp.conversation.consent import Grant, target_of
from tidings.mcp.conversation.errand import Settings
from tidings.mcp.conversation.hosted import peers_of
from tidings.mcp.conversation.joined import Conversations
from tidings.mcp.conversation.ledger import SENT, entries
from tidings.mcp.conversation.names import Scope
from tidings.mcp.conversation.store import ConsentStore
from tidings.mcp.host.servers import Servers
from tidings.testing import ScriptedModel, call

WIRES = pytest.mark.parametrize(
    ("era", "form"),
    [(era, form) for era in ("legacy", "modern") for form in ("request", "notification")],
)
PATIENT = Settings(deadline=30)


class Talk:
    """A session with real servers, and what each of them has read."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.consents = ConsentStore(folder / "config/tidings/consent.json")
        self.session = Session("s1")
        self.registry = Registry()
        self.ledger = MemoryLog()
        self.talk = Conversations(
            self.session, consents=self.consents, ledger=self.ledger, settings=PATIENT, project=folder
        )

    def grant(self, server: Server, *scopes: Scope) -> None:
        self.consents.grant(Grant(server=server.name, target=target_of(server), scopes=scopes))

    def revoke(self, server: str) -> str:
        """Take the consent back as a person does, in another process."""
        program = [sys.executable, "-c", "from tidings.cli.start import run; run()"]
        command = [*program, "consent", "revoke", server]
        environment = {"XDG_CONFIG_HOME": str(self.folder / "config"), "PATH": ""}
        subprocess.run(command, env=environment, check=True, timeout=60, capture_output=True)
        return "revoked"

    def read(self, server: str) -> bytes:
        return (self.folder / f"{server}.log").read_bytes()

    async def run(self, task: str, *steps: Any, tools: Any = ()) -> list[str]:
        model = ScriptedModel([*steps])
        given = {"registry": self.registry, "reminders": False, "approval": Gate([Rule("allow", "*")])}
        await agent_loop(task, model=model, tools=tools, session=self.session, **given)
        return [str(request["messages"]) for request in model.requests]

    def serving(self, *servers: Server) -> Servers:
        return Servers(servers, session=self.session, deadlines=QUICK, on_push=self.talk.heard)


def scoped(folder: Path, name: str, era: str, form: str) -> Server:
    return fake(folder, name, era=era, form=form, history=True, assistant=True)


@WIRES
def test_each_server_reads_what_its_scopes_say_and_not_a_byte_more(
    tmp_path: Path, era: str, form: str
) -> None:
    async def scene() -> None:
        names: dict[str, tuple[Scope, ...]] = {
            "nothing": (),
            "only": ("message",),
            "history": ("message", "history"),
            "assistant": ("message", "assistant"),
        }
        talk = Talk(tmp_path)
        servers = [scoped(tmp_path, name, era, form) for name in names]
        for server in servers:
            if names[server.name]:
                talk.grant(server, *names[server.name])
        async with talk.serving(*servers) as running:
            talk.talk.join(talk.registry, peers_of(running))
            await talk.run("first-asked", "first-answered")
            await talk.run("second-asked", "second-answered")
        words = (b"first-asked", b"first-answered", b"second-asked", b"second-answered")
        counts = {name: [talk.read(name).count(word) for word in words] for name in names}
        assert counts == {
            "nothing": [0, 0, 0, 0],
            "only": [1, 0, 1, 0],
            "history": [2, 1, 1, 0],
            "assistant": [1, 1, 1, 1],
        }
        assert b"conversation/" not in talk.read("nothing")
        assert str(tmp_path).encode() not in b"".join(talk.read(name) for name in names)

    play(scene)


@WIRES
def test_after_a_revocation_in_the_middle_of_a_turn_not_a_byte_more_is_read(
    tmp_path: Path, era: str, form: str
) -> None:
    async def scene() -> None:
        talk = Talk(tmp_path)
        server = scoped(tmp_path, "memory", era, form)
        talk.grant(server, "message", "history", "assistant")

        def revoke() -> str:
            """Take the consent back while the agent works."""
            done = talk.revoke("memory")
            talk.session.inject("added-after")
            return done

        async with talk.serving(server) as running:
            talk.talk.join(talk.registry, peers_of(running))
            requests = await talk.run(
                "asked-before",
                call("revoke"),
                call("revoke_nothing"),
                "answered-after",
                tools=[as_tool(revoke)],
            )
            before = len(talk.read("memory"))
            await talk.run("asked-after", "answered-later")
            assert len(talk.read("memory")) == before
        read = talk.read("memory")
        assert read.count(b"asked-before") == 1
        gone = (b"added-after", b"answered-after", b"asked-after", b"answered-later")
        assert [word in read for word in gone] == [False] * 4
        assert ["from memory" in request for request in requests] == [True, False, False]
        sent = [one for one in entries(talk.ledger) if one.kind == SENT]
        assert [one.payload["event"] for one in sent] == ["conversation/userMessage"]

    play(scene)


@WIRES
def test_a_secret_in_a_message_or_before_it_is_not_among_the_bytes(
    tmp_path: Path, era: str, form: str
) -> None:
    async def scene() -> None:
        talk = Talk(tmp_path)
        server = scoped(tmp_path, "memory", era, form)
        talk.grant(server, "message", "history", "assistant")
        token = "ghp_" + "a1B2" * 9
        async with talk.serving(server) as running:
            talk.talk.join(talk.registry, peers_of(running))
            await talk.run(f"deploy with {token}", f"I used {token}.")
            await talk.run(f"again, password=hunter2 and {token}", "Done.")
        read = talk.read("memory")
        assert read.count(b"deploy with [redacted token]") >= 2
        assert [secret in read for secret in (b"ghp_", b"hunter2")] == [False, False]

    play(scene)


class Relay:
    """Stands between a client and an HTTP server and writes down every byte on its way to the server."""

    def __init__(self, url: str) -> None:
        self._server = urlsplit(url)
        self.heard = bytearray()

    async def passed(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        out, into = await asyncio.open_connection(self._server.hostname, self._server.port)
        there = asyncio.create_task(self._pump(reader, into, self.heard))
        back = asyncio.create_task(self._pump(out, writer, bytearray()))
        await asyncio.wait({there, back}, return_when=asyncio.FIRST_COMPLETED)
        for task in (there, back):
            task.cancel()
        for end in (into, writer):
            end.close()

    async def _pump(
        self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, heard: bytearray
    ) -> None:
        with suppress(OSError):
            while data := await source.read(65_536):
                heard += data
                sink.write(data)
                await sink.drain()


@asynccontextmanager
async def relayed(url: str) -> AsyncIterator[tuple[str, Relay]]:
    relay = Relay(url)
    listening = await asyncio.start_server(relay.passed, "127.0.0.1", 0)
    try:
        port = listening.sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}{urlsplit(url).path}", relay
    finally:
        listening.close()


class Tapped(Talk):
    """A talk with one server over HTTP, behind a relay that keeps every byte on its way there."""

    def __init__(self, folder: Path, form: str, era: Era) -> None:
        super().__init__(folder)
        self._running = memory(form, folder / "seen")
        self._era: Era = era
        self.relay: Relay
        self.server: Server

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[None]:
        async with (
            serving(self._running, deadline=2) as url,
            relayed(url) as (place, self.relay),
        ):
            self.server = Server(name="memory", url=place, era=self._era)
            async with self.serving(self.server) as servers:
                assert servers["memory"].state == "connected"
                await self._standing()
                self.talk.join(self.registry, peers_of(servers))
                yield

    async def _standing(self) -> None:
        """Wait for the GET stream, without which nothing is answered in the literal form."""
        reminders = reminders_of(self._running)
        assert reminders is not None
        while self._era == "legacy" and not reminders.delivery._listening:  # noqa: ASYNC110 bounded by play
            await asyncio.sleep(0)

    async def said(self, name: str, *scopes: Scope) -> None:
        """Ask and answer once, with these scopes granted and no others."""
        self.consents.revoke("memory")
        if scopes:
            self.grant(self.server, *scopes)
        await self.run(f"asked-{name}", f"answered-{name}")

    async def until_heard(self, word: bytes, times: int) -> None:
        """Wait for what was handed to the transport before: a notification is not waited for."""
        while self.relay.heard.count(word) < times:  # noqa: ASYNC110 bounded by play
            await asyncio.sleep(0)

    def count(self, *names: str) -> dict[str, tuple[int, int]]:
        """How often each question and each answer went to the server."""
        words = {name: (f"asked-{name}".encode(), f"answered-{name}".encode()) for name in names}
        heard = self.relay.heard
        return {name: (heard.count(asked), heard.count(told)) for name, (asked, told) in words.items()}


TAPPED = pytest.mark.parametrize(
    ("form", "era"), [(form, era) for form in ("proper", "literal") for era in ("legacy", "modern")]
)


def passes(form: str, era: Era) -> bool:
    """Whether a user message passes: stateless HTTP has no notifications, and so no literal form."""
    return form == "proper" or era == "legacy"


@TAPPED
def test_over_http_every_scope_lets_out_its_own_words_and_not_a_byte_more(
    tmp_path: Path, form: str, era: Era
) -> None:
    async def scene() -> None:
        talk = Tapped(tmp_path, form, era)
        async with talk.connected():
            await talk.said("first")
            before = len(talk.relay.heard)
            await talk.said("second")
            assert len(talk.relay.heard) == before
            await talk.said("third", "message")
            await talk.said("fourth", "message", "history")
            await talk.said("fifth", "message", "assistant")
            await talk.said("sixth", "assistant")
            asked, told = int(passes(form, era)), int(era == "legacy")
            for name in ("fifth", "sixth"):
                await talk.until_heard(f"answered-{name}".encode(), times=told)
            after = len(talk.relay.heard)
            await talk.said("seventh")
            assert len(talk.relay.heard) == after
            heard = talk.count("first", "second", "third", "fourth", "fifth", "sixth", "seventh")
        assert heard == {
            "first": (asked, asked),  # as the history of the fourth
            "second": (asked, asked),
            "third": (2 * asked, asked),
            "fourth": (asked, 0),
            "fifth": (asked, told),
            "sixth": (0, told),
            "seventh": (0, 0),
        }
        assert str(tmp_path).encode() not in talk.relay.heard

    play(scene)


@TAPPED
def test_over_http_a_revocation_in_the_middle_of_a_turn_counts_at_once(
    tmp_path: Path, form: str, era: Era
) -> None:
    async def scene() -> None:
        talk = Tapped(tmp_path, form, era)

        def revoke() -> str:
            """Take the consent back while the agent works."""
            done = talk.revoke("memory")
            talk.session.inject("added-after")
            return done

        async with talk.connected():
            talk.grant(talk.server, "message", "history", "assistant")
            steps = (call("revoke"), "answered-before")
            await talk.run("asked-before", *steps, tools=[as_tool(revoke)])
            after = len(talk.relay.heard)
            await talk.said("after")
            assert len(talk.relay.heard) == after
            assert talk.count("before", "after") == {"before": (passes(form, era), 0), "after": (0, 0)}
            assert b"added-after" not in talk.relay.heard

    play(scene)


def test_the_words_of_a_sub_agent_go_to_nobody(tmp_path: Path) -> None:
    async def scene() -> None:
        talk = Talk(tmp_path)
        server = scoped(tmp_path, "memory", "legacy", "request")
        talk.grant(server, "message", "assistant")
        async with talk.serving(server) as running:
            talk.talk.join(talk.registry, peers_of(running))
            async with asyncio.timeout(60):
                await agent_loop(
                    "delegated-task",
                    model=ScriptedModel(["delegated-answer"]),
                    session=Session("child"),
                    registry=talk.registry,
                )
        assert b"delegated" not in talk.read("memory")

    play(scene)
