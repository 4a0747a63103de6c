"""Conversation events in the agent loop: a user message goes out, and reminders come of it.

    talk = Conversations(session)
    async with Servers("mcp.json", session=session, on_push=talk.heard) as servers:
        talk.join(registry, peers_of(servers))
        await agent_loop(task, model=model, session=session, registry=registry)

It registers hooks and needs nothing of the loop besides. Context is external text like any other: quoted,
its server named, budgeted; it stays for all turns that answer the message and is cleared then.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tidings.agent.context import Context
from tidings.agent.registry import Registered, Registry, default_registry
from tidings.agent.session import Session
from tidings.core.records import Record, warning
from tidings.core.reminder import Payload
from tidings.errors import CallerError
from tidings.log.port import EventLog
from tidings.mcp.conversation.asking import Asker
from tidings.mcp.conversation.errand import MEANINGS, Result, Settings, Words
from tidings.mcp.conversation.ledger import open_ledger
from tidings.mcp.conversation.messages import is_answered, spoken_last, text_of, turns_of
from tidings.mcp.conversation.names import TAG
from tidings.mcp.conversation.peer import Peer
from tidings.mcp.conversation.sharing import Shared, share
from tidings.mcp.conversation.store import ConsentStore
from tidings.mcp.conversation.wire import Turn
from tidings.mcp.host.settings import Clock
from tidings.shell.ids import new_id
from tidings.shell.transforms import admit_reminder

MOST_AT_ONCE = 8
"""How many messages that come in together are asked about: the last ones."""

_GRACE = 5.0
"""Seconds that a hook of ours may take beyond the deadline of asking."""

_BUSY = 0.4
"""Seconds that the ledger waits for another process: less than the deadline."""

LONGEST_LIFE = 1_000
"""Turns after which context leaves if nobody cleared it: a net for sessions that go on without this."""

_TOLD_ONCE = ("no_consent", "changed", "no_channel")
_QUIET = ("answered", "sent")


class Conversations:
    """Conversation events of one session.

    Only this session's events are answered: what others who read the registry do, a sub-agent's loop for
    one, is not taken for words of this session's user.
    """

    def __init__(
        self,
        session: Session,
        *,
        consents: ConsentStore | None = None,
        ledger: EventLog | None = None,
        settings: Settings | None = None,
        project: Path | str | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.session = session
        self.project = os.path.realpath(project or session.anchor or os.getcwd())
        self.scope = project_name(Path(self.project))
        self._ledger = open_ledger(busy_seconds=_BUSY) if ledger is None else ledger
        self._owns_ledger = ledger is None
        self.asker = Asker(
            consents=consents or ConsentStore(), ledger=self._ledger, settings=settings, clock=clock
        )
        self._registered: list[Registered] = []
        self._seen = 0
        self._open: list[str] = []
        self._given: dict[str, tuple[str, tuple[str, ...]]] = {}
        self._said: set[tuple[str, str]] = set()

    def join(self, registry: Registry, peers: Sequence[Peer]) -> None:
        """Ask `peers` about every user message of the loops that read `registry`.

        Raises:
            CallerError: it is the registry that all loops read.
        """
        if registry is default_registry:
            raise CallerError(
                "`registry` is the one that every loop reads; give join and agent_loop their own Registry()"
            )
        self.asker.peers = tuple(peers)
        self._seen = len(self.session.transcript.state.messages)
        deadline = self.asker.settings.deadline + _GRACE
        on_session = registry.register_session_hook
        self._registered = [
            on_session("session_start", self._started, deadline=deadline),
            on_session("user_prompt_submit", self._prompted, deadline=deadline),
            on_session(["post_finish", "session_idle"], self._finished, deadline=deadline),
            on_session("session_end", self._ended, deadline=deadline),
            registry.register_checkpoint_hook("*", self._let_in, deadline=deadline),
            registry.register_persona_hook("pre_agent_turn", self._before_turn, deadline=deadline),
        ]

    def heard(self, server: str, method: str, params: Mapping[str, object]) -> None:
        """What a server pushed; give this to the host as `on_push`."""
        self.asker.heard(server, method, params)

    def leave(self) -> None:
        """Ask nobody any more, and close what was opened here."""
        for registered in self._registered:
            registered.unregister()
        self._registered = []
        if self._owns_ledger:
            self._ledger.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.leave()

    async def message(self, content: str, message_id: str | None = None) -> None:
        """Ask about one message of the user, before it is in the transcript; its context is put there."""
        await self._messages([(message_id or new_id(), content)], self._transcript())

    async def answered(self) -> None:
        """The messages so far were answered: context leaves, and who may know the answer is told."""
        self.session.clear(tag=TAG)
        asked, self._open = self._open, []
        text = text_of(next((m for m in reversed(self._transcript()) if m.get("role") == "assistant"), {}))
        if asked and text:
            self._note(await self.asker.tell(self._words(asked[-1], text)))

    async def _messages(
        self, messages: Sequence[tuple[str, str]], earlier: Sequence[Mapping[str, object]]
    ) -> None:
        chosen, history = messages[-MOST_AT_ONCE:], turns_of(earlier)
        self._open += [name for name, _ in messages]
        asked = [self.asker.ask(self._words(name, text, history)) for name, text in chosen]
        for (name, _), results in zip(chosen, await asyncio.gather(*asked), strict=True):
            self._put(name, results)
        if len(messages) > len(chosen):
            left = len(messages) - len(chosen)
            self._write([warning("conversation_skipped", "conversation", f"{left} messages came at once")])

    def _words(self, name: str, content: str, history: tuple[Turn, ...] = ()) -> Words:
        return Words(
            conversation=self.session.id,
            message=name,
            content=content,
            project=self.project,
            scope=self.scope,
            history=history,
            already=self._already(),
        )

    def _already(self) -> dict[str, tuple[str, ...]]:
        """What each server gave that stands before the model: as a reminder, or issued for good."""
        standing = {one.id for one in self.session.transcript.pending if TAG in one.tags}
        issued = (slot for entry in self.session.stored.issued for slot in entry.reminder_ids)
        standing |= {slot if isinstance(slot, str) else slot[1] for slot in issued}
        self._given = {name: given for name, given in self._given.items() if name in standing}
        found: dict[str, tuple[str, ...]] = {}
        for server, ids in self._given.values():
            found[server] = (*found.get(server, ()), *ids)
        return found

    def _put(self, message_id: str, results: Sequence[Result]) -> None:
        answers = [(one.server, one.items) for one in results if one.kind == "answered"]
        shared = share(answers, self.asker.settings.room)
        with self.session.step():
            for portion in shared.portions:
                options: Payload = {
                    "body": portion.body,
                    "tags": ["memory", TAG],
                    "dedupe_key": f"{TAG}:{message_id}",
                    "ttl_turns": LONGEST_LIFE,
                    "propagate": "none",
                }
                admitted = admit_reminder(
                    self.session.transcript, options, producer="mcp", origin=portion.server
                )
                self.session.keep(admitted.transcript)
                if portion.ids:
                    self._given[admitted.reminder_id] = (portion.server, portion.ids)
            self._note(results, message_id, shared)

    def _note(
        self, results: Sequence[Result], message_id: str | None = None, shared: Shared | None = None
    ) -> None:
        records: list[Record] = []
        if message_id is not None and results:
            left = shared.left_out if shared is not None else {}
            told = [_told(one, left.get(one.server, 0)) for one in results]
            records.append(Record("conversation.asked", {"message_id": message_id, "servers": told}))
        for one in results:
            once = one.kind in _TOLD_ONCE
            if one.kind in _QUIET or (once and (one.server, one.kind) in self._said):
                continue
            if once:
                self._said.add((one.server, one.kind))
            records.append(_warned(one))
        self._write(records)

    def _write(self, records: Sequence[Record]) -> None:
        if records:
            with self.session.step():
                self.session.note(records)

    def _transcript(self) -> Sequence[Mapping[str, object]]:
        return self.session.transcript.messages

    def _is_ours(self, context: Context) -> bool:
        """Whether an event is of our session, as far as it says so."""
        return context.get("session_id") in (None, self.session.id)

    async def _started(self, context: Context) -> None:
        if self._is_ours(context):
            self._seen = len(self._transcript())

    async def _prompted(self, context: Context) -> None:
        if not self._is_ours(context):
            return
        self.session.clear(tag=TAG)
        self._open = []
        self._seen = len(self._transcript()) + 1  # the prompt itself is put in after this
        await self.message(str(context["prompt"]))

    async def _let_in(self, context: Context) -> None:
        """Something came in at a seam: user messages among it are asked about."""
        if not self._is_ours(context):
            return
        messages = self._transcript()
        before, added = messages[: self._seen], messages[self._seen :]
        self._seen = len(messages)
        if is_answered([*before[-1:], *added]):
            await self.answered()
        fresh = spoken_last(messages, len(added))
        if fresh:
            earlier = messages[: len(messages) - len(fresh)]
            await self._messages([(new_id(), text) for text in fresh], earlier)

    async def _finished(self, context: Context) -> None:
        if self._is_ours(context):
            await self.answered()

    async def _ended(self, context: Context) -> None:
        """A refused prompt has no answer to wait for; whatever else is unfinished may go on later."""
        if self._is_ours(context) and context.get("status") == "blocked":
            self._open = []
            self.session.clear(tag=TAG)

    async def _before_turn(self, context: Context) -> None:
        """Context of a server that lost its consent meanwhile is not shown again."""
        if context.get("persona") not in (self.session.agent_id, self.session.id):
            return
        self._seen = len(self._transcript())
        held = [one for one in self.session.transcript.pending if TAG in one.tags]
        allowed = self.asker.allowed(self.project) if held else frozenset()
        for reminder in held:
            if reminder.provenance.origin not in allowed:
                self.session.clear(id=reminder.id)


def project_name(folder: Path) -> str:
    """What a folder is called: the repository that it is in, else the folder itself."""
    top = next((each for each in (folder, *folder.parents) if (each / ".git").exists()), folder)
    return top.name


def _told(result: Result, left_out: int) -> Payload:
    told: Payload = {"server": result.server, "outcome": result.kind}
    counts = {"items": len(result.items), "junk": result.junk, "left_out": left_out}
    return {**told, **{name: count for name, count in counts.items() if count}}


def _warned(result: Result) -> Record:
    said = f"the MCP server {result.server} {MEANINGS[result.kind]}"
    return warning(
        f"conversation_{result.kind}",
        f"mcp:{result.server}",
        f"{said}: {result.reason}" if result.reason else said,
        origin=result.server,
    )
