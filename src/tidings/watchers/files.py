"""`FileWatcher`: the files of a folder, as reminders that say what changed outside the conversation."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

from tidings.watchers.filing import tell
from tidings.watchers.matching import Patterns
from tidings.watchers.own import OwnWrites
from tidings.watchers.told import News
from tidings.watchers.tree import Tree


class FileWatcher:
    """Tells what is created, edited, renamed or deleted below `root`, without what is ignored.

    With `own`, the agent's own writes are not told. `patterns` (globs as in .gitignore) narrow it down.

    Raises:
        CallerError: `root` is not a folder.
    """

    def __init__(
        self,
        root: Path | str = ".",
        *,
        patterns: tuple[str, ...] = (),
        own: OwnWrites | None = None,
        poll: bool | None = None,
        name: str = "files",
    ) -> None:
        self.name = name
        self._tree = Tree(root, own=own, poll=poll)
        self._patterns = Patterns(patterns)
        self._knows_own = own is not None and own.complete
        self.ready = self._tree.ready
        """Set once changes are seen."""

    async def watch(self) -> AsyncGenerator[News, None]:
        """What changes, burst by burst."""
        async with aclosing(self._tree.batches()) as batches:
            async for batch in batches:
                chosen = self._patterns.only(batch)
                for news in tell(chosen, self._tree.root, knows_own=self._knows_own):
                    yield news
