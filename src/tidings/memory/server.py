"""A memory for conversations, without a transport: messages in, memories out, and the tools beside it.

It keeps per conversation what it has shown already, notes in the background what was shown, and, where that
is allowed, keeps what it saw. The command line joins it with an MCP server; an agent loop can call it as it
is.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from threading import Lock
from types import TracebackType
from typing import Self

from tidings.core.producers import shown
from tidings.core.reminder import Payload
from tidings.memory.answer import Answer, Budget
from tidings.memory.background import Background
from tidings.memory.entry import EVERYWHERE, Role, iso
from tidings.memory.failure import MemoryInputError
from tidings.memory.ingest import Consent, Redact, see
from tidings.memory.store import MemoryStore, Message
from tidings.memory.tools import BY_NAME

_logger = logging.getLogger("tidings.memory")

MOST_CONVERSATIONS = 256
SHOWN_AGAIN_AFTER = 20
"""After how many messages a memory may be shown again: by then it may have been compacted away."""


class MemoryServer:
    """Answers messages from `store`, in `project` and with what holds everywhere.

    `consent` says what may be kept of what is seen; `redact` takes secrets out of a text, and what it would
    change is not kept. The store stays the caller's to close.
    """

    def __init__(
        self,
        store: MemoryStore,
        *,
        redact: Redact,
        project: str = EVERYWHERE,
        consent: Consent | None = None,
    ) -> None:
        self.store = store
        self.project = project
        self.consent = consent or Consent()
        self._redact = redact
        self.background = Background()
        self._lock = Lock()
        self._shown: OrderedDict[str, tuple[int, dict[str, int]]] = OrderedDict()

    def user_message(
        self,
        content: str,
        *,
        history: Sequence[Message] = (),
        conversation: str = "",
        already: Collection[str] = (),
        budget: Budget | None = None,
        project: str | None = None,
    ) -> Answer:
        """The memories that fit a message; `already` holds ids and hashes that the model has before it.

        `project` is where the message was sent from, if that is another than the server's own.

        Raises:
            MemoryInputError: a message that is no text, or a history that holds something else.
            MemoryStoreError: the file cannot be read.
        """
        known = {*already, *self._recently_shown(conversation)}
        home = self.project if project is None else project
        answer = self.store.answer(content, history, known, budget, project=home)
        ids = [item.id for item in answer.items]
        if ids:
            self._note_shown(conversation, ids)
            self.background.submit(partial(self.store.mark_surfaced, ids))
        self._keep(content, "user", conversation, home)
        return answer

    def assistant_response(
        self, content: str, *, conversation: str = "", project: str | None = None
    ) -> None:
        """Take in what the assistant answered, if that is allowed."""
        self._keep(content, "assistant", conversation, self.project if project is None else project)

    def call(self, name: str, arguments: Mapping[str, object]) -> Payload:
        """Run a tool.

        Raises:
            MemoryInputError: no such tool, or wrong arguments.
            MemoryStoreError: the file cannot be read or written.
        """
        if name not in BY_NAME:
            fix = f"there are {', '.join(BY_NAME)}"
            raise MemoryInputError("tools", (f"there is no tool {shown(name)}; {fix}",))
        return BY_NAME[name].run(self.store, self.project, self._redact, arguments)

    def close(self) -> bool:
        """Finish what waits to be written; says whether all was."""
        return self.background.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _keep(self, content: str, role: Role, conversation: str, project: str) -> None:
        seen = see(
            content,
            role,
            consent=self.consent,
            redact=self._redact,
            conversation=conversation,
            project=project,
        )
        if seen.options:
            self.background.submit(partial(self._remember, seen.options))
        elif self.consent.allows(role):
            self.background.counts[seen.left_out] += 1

    def _remember(self, options: Mapping[str, object]) -> None:
        left = self.store.remember(options).left
        if left is not None:
            self.background.counts["left"] += left.count
            said = f"{left.count} seen messages of {iso(left.oldest)} to {iso(left.newest)}"
            _logger.warning("%s left: there is room for %d", said, self.store.most_seen)

    def _recently_shown(self, conversation: str) -> list[str]:
        if not conversation:
            return []
        with self._lock:
            turn, ids = self._shown.pop(conversation, (0, {}))
            kept = {name: at for name, at in ids.items() if turn + 1 - at < SHOWN_AGAIN_AFTER}
            self._shown[conversation] = (turn + 1, kept)
            while len(self._shown) > MOST_CONVERSATIONS:
                self._shown.popitem(last=False)
            return list(kept)

    def _note_shown(self, conversation: str, ids: Sequence[str]) -> None:
        with self._lock:
            if conversation in self._shown:
                turn, known = self._shown[conversation]
                self._shown[conversation] = (turn, {**known, **dict.fromkeys(ids, turn)})
