"""`run_command`: a shell command in the workspace becomes its exit code and its output.

Not a sandbox: a command can do whatever the person running the agent can. It is the approval gate that
decides whether it runs.
"""

from __future__ import annotations

import os
import shutil
import signal
from typing import Annotated

import msgspec

from tidings.agent.port import Outcome
from tidings.agent.tools.environment import command_environment
from tidings.agent.tools.folder import Folder
from tidings.agent.tools.process import Ended, run_process
from tidings.agent.tools.tool import ToolContext, ToolError

DEFAULT_TIMEOUT = 120.0
MAX_TIMEOUT = 600.0
_HEADER_ROOM = 120

Timeout = Annotated[float, msgspec.Meta(gt=0, le=MAX_TIMEOUT, description="Seconds until it is killed.")]


class Command:
    """The command tool of one folder."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder

    async def run_command(
        self,
        command: str,
        context: ToolContext,
        timeout: Timeout = DEFAULT_TIMEOUT,  # noqa: ASYNC109 the model chooses it
    ) -> Outcome:
        """Run a shell command in the workspace and give its exit code and output.

        Args:
            command: The command line. Nothing can be typed into it, and what it leaves in the background
                is ended with it.
        """
        if "\0" in command:
            raise ToolError("command has a zero byte; remove it")
        shell = shutil.which("bash") or "/bin/sh"
        env, withheld = command_environment(os.environ)
        try:
            ended = await run_process(
                [shell, "-c", command],
                cwd=self._folder.root,
                env=env,
                deadline=timeout,
                limit=context.max_output - _HEADER_ROOM,
            )
        except (OSError, UnicodeError) as error:
            raise ToolError(f"the command could not be started: {error}") from error
        return _outcome(ended, timeout, withheld)


def _outcome(ended: Ended, timeout: float, withheld: tuple[str, ...]) -> Outcome:
    output = ended.output
    return Outcome(
        text=f"[{_how(ended, timeout)}]\n{output.text or '(no output)'}",
        ok=ended.exit_code == 0 and not ended.timed_out,
        truncated=output.truncated,
        original_size=output.total if output.truncated else None,
        data={"exit_code": ended.exit_code, "timed_out": ended.timed_out, "withheld": list(withheld)},
    )


def _how(ended: Ended, timeout: float) -> str:
    if ended.timed_out:
        return f"killed after {timeout:g} seconds; this is the output until then"
    if ended.exit_code is not None and ended.exit_code < 0:
        return f"ended by signal {-ended.exit_code} ({signal.strsignal(-ended.exit_code)})"
    return f"exit code {ended.exit_code}"
