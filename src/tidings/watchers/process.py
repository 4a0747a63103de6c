"""A watched command, run once: its end and its output, bounded and without secrets.

The user chose the command, so it gets the whole environment, ours unless another is given; values that
look secret are looked for in what it prints. At most `limit` characters are kept, the beginning and the
end; lines that were cut in two are left out, lest half a secret stays. Built on the process of the loop's
own tools: a group that is killed at its deadline or when the run is stale.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from tidings.agent.providers.quoting import without_colours
from tidings.agent.tools.environment import QUIET
from tidings.agent.tools.process import run_process
from tidings.agent.tools.truncate import Clipped
from tidings.core.redaction import known_secrets, redact

End: TypeAlias = Literal["passed", "failed", "timed_out", "not_started"]

LIMIT = 96 * 1024
"""Characters of output that are kept."""
DEADLINE = 600.0


class Run(msgspec.Struct, frozen=True):
    """How a command ended and what it printed, as plain text without secrets."""

    end: End
    exit_code: int | None = None
    text: str = ""
    truncated: bool = False
    deadline: float = DEADLINE

    @property
    def passed(self) -> bool:
        """Whether it ended well."""
        return self.end == "passed"


async def run_command(
    argv: Sequence[str],
    *,
    cwd: Path,
    deadline: float = DEADLINE,
    limit: int = LIMIT,
    environ: Mapping[str, str] | None = None,
    more: Mapping[str, str] | None = None,
) -> Run:
    """Run `argv` to its end; a command that cannot be started is a result, too."""
    env = {**(os.environ if environ is None else environ), **QUIET, **(more or {})}
    try:
        ended = await run_process(argv, cwd=cwd, env=env, deadline=deadline, limit=limit)
    except OSError as error:
        return Run("not_started", text=error.strerror or str(error))
    text = await asyncio.to_thread(_shown, ended.output, env)
    if ended.timed_out:
        return Run("timed_out", None, text, ended.output.truncated, deadline)
    end: End = "passed" if ended.exit_code == 0 else "failed"
    return Run(end, ended.exit_code, text, ended.output.truncated)


def _shown(output: Clipped, environ: Mapping[str, str]) -> str:
    """The output as it may be shown. Of two million characters that takes seconds: no loop waits for it."""
    return redact(without_colours(whole_lines(output)), known_secrets(environ))


def whole_lines(output: Clipped) -> str:
    """The output without the two lines that the cut went through."""
    if not output.truncated:
        return output.text
    before, _, rest = output.text.partition("\n[… ")
    mark, _, after = rest.partition(" …]\n")
    head = before.rpartition("\n")[0]
    tail = after.partition("\n")[2]
    return f"{head}\n[… {mark} …]\n{tail}"
