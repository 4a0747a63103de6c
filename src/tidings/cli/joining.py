"""Joining the sessions of `tidings acp` and `tidings bridge` to the user's hub, when there is one.

Protocols know no hub and the hub knows no protocols: this is where they meet. A hub that starts later is
joined then; without one nothing changes.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Annotated, TypeAlias

import typer

from tidings.agent.session import Session
from tidings.bridge.served.membership import Join

NoHub: TypeAlias = Annotated[
    bool, typer.Option("--no-hub", help="Do not join the sessions to the hub of `tidings up`.")
]


def hub_join(host: str, no_hub: bool) -> Join | None:
    """How sessions of this kind of host join the hub; None when they are not to."""
    return None if no_hub else lambda session, root: _attached(session, root, host)


def _attached(session: Session, root: str, host: str) -> AbstractAsyncContextManager[object]:
    from tidings.hub.attached import Attached  # only a session that is served pays for loading it

    about = {"host": host}
    return Attached(session, agent=f"tidings {host}", workspace=root, capabilities=about, patient=True)
