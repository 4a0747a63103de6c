"""Progress of a running request, kept to the rules: only while it runs, always more than before.

    async with progress(ctx) as report:
        await report(1, total=3, message="fetched")

The SDK sends it on the request's own stream and only when the client asked for it with a token.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from tidings.core.producers import shown
from tidings.errors import CallerError

if TYPE_CHECKING:
    from mcp.server.mcpserver import Context as HighContext

    from tidings.mcp.emit.sdk import Context

    AnyContext: TypeAlias = "Context | HighContext[Any, Any]"


class Progress:
    """Reports of one request."""

    def __init__(self, ctx: AnyContext) -> None:
        self._session = ctx.session
        self._last = -math.inf
        self.done = False

    async def __call__(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> bool:
        """Report; gives False, and sends nothing, when the request is over.

        Raises:
            CallerError: not a number, or not more than what was reported last.
        """
        if not _is_finite(progress):
            raise CallerError(f"`progress` must be a finite number; got {shown(progress)}")
        if self.done:
            return False
        if progress <= self._last:
            raise CallerError(f"`progress` must grow: {progress} comes after {self._last}")
        self._last = progress
        await self._session.report_progress(progress, total, message)
        return True


@asynccontextmanager
async def progress(ctx: AnyContext) -> AsyncIterator[Progress]:
    """Report the progress of the request of `ctx`; after the block nothing more is sent."""
    report = Progress(ctx)
    try:
        yield report
    finally:
        report.done = True


def _is_finite(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
