"""The operations of workspaces, for the hub's table."""

from __future__ import annotations

from tidings.errors import CallerError
from tidings.hub.service import Hub
from tidings.hub.shapes import Nothing
from tidings.hub.workspace import shapes
from tidings.hub.workspace.attaching import Workspaces


async def attach(hub: Hub, asked: shapes.Attach) -> shapes.WorkspaceRow:
    """Use the `tidings.toml` of a folder from now on."""
    return await _workspaces(hub).attach(asked.path, asked.environment)


async def detach(hub: Hub, asked: shapes.Detach) -> shapes.Detached:
    """Leave a folder alone."""
    return shapes.Detached(path=asked.path, detached=await _workspaces(hub).detach(asked.path))


def workspaces(hub: Hub, _: Nothing) -> shapes.WorkspacesAnswer:
    """List the attached folders and how their watchers are."""
    found = hub.workspaces
    return shapes.WorkspacesAnswer(workspaces=[] if found is None else found.rows())


def _workspaces(hub: Hub) -> Workspaces:
    if hub.workspaces is None:
        raise CallerError("this hub has no workspaces; it was started without them")
    return hub.workspaces
