"""What is asked and answered about workspaces, as types. Data; the table of operations names them."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import msgspec

from tidings.bridge.shapes import Wire
from tidings.hub.shapes import Asked, Path
from tidings.hub.workspace.keeping import State
from tidings.hub.workspace.making import Kind

VARIABLES_MOST = 2_000

Environment: TypeAlias = Annotated[dict[str, str], msgspec.Meta(max_length=VARIABLES_MOST)]


class Attach(Asked, frozen=True, kw_only=True):
    """A folder whose `tidings.toml` is to be used from now on; again: the file is read anew.

    What its watchers start gets `environment`, the hub's own unless given. It is kept in memory only.
    """

    path: Path
    environment: Environment | None = None

    def __repr__(self) -> str:
        """Without the environment: it holds secrets."""
        return f"Attach({self.path!r})"


class Detach(Asked, frozen=True, kw_only=True):
    """A folder that is to be left alone."""

    path: Path


class WatcherRow(Wire, frozen=True, kw_only=True):
    """A watcher or an MCP server: how it stands since when (milliseconds), and its last words."""

    kind: Kind
    name: str
    state: State
    since: int
    last_message: str


class WorkspaceRow(Wire, frozen=True, kw_only=True):
    """An attached folder: its config file, if it has one, its watchers, and what is wrong with it."""

    path: str
    config: str | None
    watchers: list[WatcherRow]
    problems: list[str]


class WorkspacesAnswer(Wire, frozen=True, kw_only=True):
    """The attached folders."""

    workspaces: list[WorkspaceRow]


class Detached(Wire, frozen=True, kw_only=True):
    """It was attached, or was not."""

    path: str
    detached: bool
