"""Which changes matter to a watcher: globs as in .gitignore, with `!` to leave out. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from tidings.agent.tools.glob import alternatives, is_ignored, read_rules
from tidings.watchers.changes import Batch


class Patterns:
    """Globs such as `*.rs`, `src/**` or `!*.md`; none at all match everything."""

    def __init__(self, globs: Sequence[str]) -> None:
        every = ["*"] if all(glob.startswith("!") for glob in globs) else []
        lines = [*every, *(each for glob in globs for each in alternatives(glob))]
        self._rules = tuple(read_rules("\n".join(lines), ""))

    def match(self, path: str) -> bool:
        """Whether the last glob that speaks of the path, or of a folder above it, takes it in."""
        folders = path.split("/")[:-1]
        taken = False
        for depth in range(1, len(folders) + 1):
            above = "/".join(folders[:depth])
            taken = is_ignored(self._rules, above, True) or taken
        verdicts = [rule for rule in self._rules if rule.speaks_of(path, False)]
        return not verdicts[-1].negated if verdicts else taken

    def only(self, batch: Batch) -> Batch:
        """`batch` with the changes that match, under their new or their former name."""
        kept = tuple(
            change
            for change in batch.changes
            if self.match(change.path) or (change.was is not None and self.match(change.was))
        )
        return batch if len(kept) == len(batch.changes) else replace(batch, changes=kept)
