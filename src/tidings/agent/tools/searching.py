"""`search` and `list_files`: the questions of a model become an order for the search process.

The walk and the regular expression run in `sweep.py`, in a process that is killed at its deadline; here
are only the arguments and the outcome.
"""

from __future__ import annotations

import os
import sys
from typing import Annotated

import msgspec

from tidings.agent.port import Outcome
from tidings.agent.tools import sweep
from tidings.agent.tools.environment import command_environment
from tidings.agent.tools.folder import Folder
from tidings.agent.tools.process import run_process
from tidings.agent.tools.tool import ToolContext, ToolError

TIMEOUT = 30.0

Pattern = Annotated[
    str, msgspec.Meta(min_length=1, max_length=2000, description="A Python regular expression.")
]
Glob = Annotated[
    str,
    msgspec.Meta(min_length=1, max_length=500, description="Only these files: *.py, src/**/*.{ts,tsx}."),
]
Max = Annotated[int, msgspec.Meta(ge=1, le=5000, description="The most lines to give.")]


class Searching:
    """The tools of one folder that find things."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder

    async def search(
        self,
        pattern: Pattern,
        context: ToolContext,
        path: str = ".",
        glob: Glob | None = None,
        max: Max = 100,
    ) -> Outcome:
        """Search the text files of the workspace, line by line, with a regular expression.

        Args:
            path: The folder or file to search in. What .gitignore names is left out.
        """
        return await self._sweep(path, pattern, glob, max, context)

    async def list_files(
        self, context: ToolContext, path: str = ".", glob: Glob | None = None, max: Max = 500
    ) -> Outcome:
        """List the files of the workspace, with their folders.

        Args:
            path: The folder to list. What .gitignore names is left out.
        """
        return await self._sweep(path, None, glob, max, context)

    async def _sweep(
        self, path: str, pattern: str | None, glob: str | None, max: int, context: ToolContext
    ) -> Outcome:
        start = self._folder.resolve(path)
        if not start.exists():
            raise ToolError(f"there is no file or folder {path!r}; list_files shows what there is")
        name = "" if start == self._folder.root else self._folder.name(start)
        order = sweep.Order(str(self._folder.root), name, pattern, glob, max)
        argument = msgspec.json.encode(order._asdict()).decode()
        ended = await run_process(
            [sys.executable, "-W", "ignore", "-m", sweep.__name__, argument],
            cwd=self._folder.root,
            env=_environment(),
            deadline=TIMEOUT,
            limit=context.max_output,
        )
        output = ended.output
        if ended.timed_out:
            raise ToolError(
                f"it was not done within {TIMEOUT:g} seconds; use a simpler pattern or a smaller path"
            )
        if ended.exit_code not in (sweep.DONE, sweep.MORE):
            raise ToolError(output.text.strip() or f"the search ended with exit code {ended.exit_code}")
        more = ended.exit_code == sweep.MORE
        return Outcome(
            text=output.text.removesuffix("\n"),
            truncated=more or output.truncated,
            original_size=output.total if more or output.truncated else None,
        )


def _environment() -> dict[str, str]:
    """The search process imports what this one can, and nothing from the folder it searches."""
    env, _ = command_environment(os.environ)
    return env | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONSAFEPATH": "1"}
