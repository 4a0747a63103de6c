"""A memory in one SQLite file: remember, answer, recall, list, forget, from any thread.

Whatever is decided is decided in the pure modules beside this one; here it meets the file, the clock and
the embedder. Answering writes nothing: what was shown is noted by `mark_surfaced`, later. Several
processes may share the file.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Literal, Self, TypeAlias

import msgspec

from tidings.memory import eviction, purge, reading, relevance, succession
from tidings.memory.answer import Answer, Budget, choose, fit
from tidings.memory.embedding import Embedder, WordLlama, available
from tidings.memory.entry import EVERYWHERE, FIELDS, Memory, build_memory
from tidings.memory.eviction import MOST_SEEN, Left
from tidings.memory.failure import MemoryInputError
from tidings.memory.file import MemoryFile
from tidings.memory.finder import Finder
from tidings.memory.purge import Forgotten
from tidings.memory.question import Asked, ask, recent
from tidings.memory.sameness import Context
from tidings.memory.search import Evidence
from tidings.memory.similarity import Similarity
from tidings.memory.words import Stems
from tidings.memory.writing import Pen
from tidings.shell.ids import new_id, now_ms

EmbedderChoice: TypeAlias = Embedder | Literal["auto"] | None
Message: TypeAlias = Mapping[str, str]

LEAST_RECALLED = 0.01
"""What is less relevant is not even recalled when asked for."""

MOST_LISTED = 1_000
_CATCH_UP = 200


class Remembered(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a memory: new or known before, the ids it put out of force, and what left for it."""

    memory: Memory
    new: bool
    replaced: tuple[str, ...] = ()
    left: Left | None = None


class MemoryStore:
    """The memory in the SQLite file `path`, created when it does not exist.

    `embedder` "auto" uses the one of the `memory` extra when it is installed; None finds by words alone. Of
    what was only seen at most `most_seen` messages are kept.

    Raises:
        CallerError: the file is a database of something else.
        MemoryStoreError: it cannot be opened, or is damaged.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        embedder: EmbedderChoice = "auto",
        clock: Callable[[], int] = now_ms,
        busy_seconds: float = 5.0,
        most_seen: int = MOST_SEEN,
    ) -> None:
        if most_seen < 1:
            raise MemoryInputError("open", (f"`most_seen` must be 1 or more; got {most_seen!r}",))
        self.path = Path(path)
        self.file = MemoryFile(self.path, busy_seconds)
        self._clock = clock
        self.most_seen = most_seen
        self._stems = Stems()
        self._similarity = _similarity(embedder)
        self._finder = Finder(self.file, self._similarity)
        self._pen: Pen | None = None
        purge.clear(self.file)

    def remember(self, options: Mapping[str, object] | None = None, /, **fields: object) -> Remembered:
        """Remember one thing, given as a mapping, as keywords, or as both; it is durable on return.

        Raises:
            MemoryInputError: with every problem.
            MemoryStoreError: the file cannot be written; nothing was remembered.
        """
        memory = build_memory({**(options or {}), **fields}, id=new_id(), now=self._clock(), fields=FIELDS)
        pen = self.pen()
        with self.file.writing() as connection:
            before = succession.known(connection, memory)
            if before is not None:
                succession.say_again(connection, before, memory)
                kept = reading.load(connection, before)
                assert kept is not None
                return Remembered(memory=kept, new=False)
            memory = succession.succeeding(connection, memory, self._stems)
            pen.add(connection, memory)
            left = None
            if memory.kind == "turn":
                left = eviction.make_room(connection, pen, self.most_seen, self._clock())
        return Remembered(memory=memory, new=True, replaced=memory.replaces, left=left)

    def answer(
        self,
        message: str,
        recent_history: Sequence[Message] = (),
        already_in_context: Collection[str] = (),
        budget: Budget | None = None,
        *,
        project: str = EVERYWHERE,
        now: int | None = None,
    ) -> Answer:
        """The memories that fit `message`; none when nothing does.

        `already_in_context` holds ids and hashes of what need not be said again.

        Raises:
            MemoryInputError: a message that is no text, or a history that holds something else.
            MemoryStoreError: the file cannot be read.
        """
        history = checked_history(message, recent_history)
        asked = self._asked(message, history)
        if asked is None:
            return Answer(silent="the message asks for nothing that could be remembered")
        said = recent(history)
        context = Context(said, already_in_context)
        limits = budget or Budget()
        at = self._clock() if now is None else now
        found = self._finder.find(asked, project, at, limits, relevance.BOTH.least)
        repeats = self._finder.repeats(said, found.scopes, limits) if found.similarity else None
        chosen = choose(found.evidence, asked, context, found.now, repeats=repeats)
        items = fit(chosen, limits, asked)
        silent = "" if items else "nothing that is remembered fits"
        return Answer(items=items, silent=silent, similarity=found.similarity, late=found.late)

    def recall(
        self, query: str, *, project: str = EVERYWHERE, budget: Budget | None = None, now: int | None = None
    ) -> Answer:
        """What is remembered about `query`, weaker matches too: whoever asks wants to see them.

        Raises:
            MemoryInputError: a query that is no text.
            MemoryStoreError: the file cannot be read.
        """
        checked_history(query, ())
        asked = self._asked(query, ())
        if asked is None:
            return Answer(silent="the question has no word to look for")
        limits = budget or Budget()
        at = self._clock() if now is None else now
        found = self._finder.find(asked, project, at, limits, LEAST_RECALLED)
        chosen = choose(found.evidence, asked, Context(()), found.now, least=LEAST_RECALLED)
        items = fit(chosen, limits, asked)
        silent = "" if items else "nothing is remembered about this"
        return Answer(items=items, silent=silent, similarity=found.similarity, late=found.late)

    def evidence(
        self,
        message: str,
        recent_history: Sequence[Message] = (),
        *,
        project: str = EVERYWHERE,
        budget: Budget | None = None,
    ) -> tuple[Evidence, ...]:
        """Everything that was weighed for a message, unranked: to see why something did or did not surface.

        Raises:
            MemoryInputError: a message that is no text, or a history that holds something else.
            MemoryStoreError: the file cannot be read.
        """
        asked = self._asked(message, checked_history(message, recent_history))
        if asked is None:
            return ()
        return self._finder.find(asked, project, self._clock(), budget or Budget()).evidence

    def list(
        self,
        *,
        project: str | None = None,
        limit: int = 50,
        outdated: bool = False,
        now: int | None = None,
    ) -> tuple[Memory, ...]:
        """Memories, newest first: of one project (with what holds everywhere), or of all; those that hold.

        Raises:
            MemoryStoreError: the file cannot be read.
        """
        where = ["1" if outdated else reading.HOLDS, "1" if project is None else "s.name IN (:project, '')"]
        values = {
            "now": self._clock() if now is None else now,
            "project": project,
            "limit": min(max(limit, 0), MOST_LISTED),
        }
        with self.file.reading() as connection:
            rows = connection.execute(
                f"SELECT {reading.FIELDS} FROM {reading.FROM} WHERE {' AND '.join(where)}"
                " ORDER BY m.created DESC, m.seq DESC LIMIT :limit",
                values,
            )
            return tuple(reading.memory_of(row) for row in rows)

    def get(self, id: str) -> Memory | None:
        """The memory of that id, whole."""
        with self.file.reading() as connection:
            return reading.load(connection, id)

    def count(self) -> int:
        """How many memories there are, outdated ones included."""
        with self.file.reading() as connection:
            return int(connection.execute("SELECT count(*) FROM memories").fetchone()[0])

    def forget(self, selection: Mapping[str, object] | None = None, /, **fields: object) -> Forgotten:
        """Forget for good what matches all of: id, key, containing, conversation, project, before.

        Raises:
            MemoryInputError: with every problem, also when nothing is given.
            MemoryStoreError: the file cannot be written; nothing was forgotten.
        """
        return purge.forget(self.file, self.pen(), {**(selection or {}), **fields})

    def departures(self) -> tuple[Left, ...]:
        """What of the seen left for want of room, oldest note first.

        Raises:
            MemoryStoreError: the file cannot be read.
        """
        with self.file.reading() as connection:
            return tuple(eviction.departures(connection))

    def mark_surfaced(self, ids: Iterable[str]) -> None:
        """Note that these memories were shown; what is shown again and again grows a little tired."""
        with self.file.writing() as connection:
            connection.executemany(
                "UPDATE memories SET surfaced = surfaced + 1, last_surfaced = ? WHERE id = ?",
                [(self._clock(), name) for name in ids],
            )

    def warm_up(self) -> int:
        """Load the embedder, give every memory its vector and read them; says how many were missing."""
        pen, missing = self.pen(), 0
        while True:
            with self.file.writing() as connection:
                more = pen.catch_up(connection, _CATCH_UP)
            missing += more
            if more < _CATCH_UP:
                break
        self.answer("warm up the vectors")
        return missing

    def _asked(self, message: str, history: Sequence[Message]) -> Asked | None:
        self.file.must_be_open()
        return ask(message, history, self._stems)

    def pen(self) -> Pen:
        """What writes; waits for the embedder if that is still being loaded."""
        self.file.must_be_open()
        if self._pen is None:
            embedder = None if self._similarity is None else self._similarity.embedder()
            self._pen = Pen(self._stems, embedder)
        return self._pen

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        if self._similarity is not None:
            self._similarity.close()
        self.file.close()
        self._stems.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def checked_history(message: object, history: object) -> list[Message]:
    """The history as it should be.

    Raises:
        MemoryInputError: it is not, or the message is no text.
    """
    problems = [] if isinstance(message, str) else ["`message` must be a string"]
    if not isinstance(history, (list, tuple)):
        problems.append("`recent_history` must be a list of {role, content}")
        history = ()
    for number, one in enumerate(history):
        if not isinstance(one, Mapping) or not all(
            isinstance(one.get(k), str) for k in ("role", "content")
        ):
            problems.append(f"`recent_history` item {number} must have `role` and `content`, both strings")
    if problems:
        raise MemoryInputError("answer", tuple(problems))
    return [{"role": one["role"], "content": one["content"]} for one in history]


def _similarity(embedder: EmbedderChoice) -> Similarity | None:
    if embedder is None or (embedder == "auto" and not available()):
        return None
    return Similarity(WordLlama if embedder == "auto" else lambda: embedder)
