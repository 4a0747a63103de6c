"""The errors of the hub: what is asked of it cannot be done now, or it cannot be reached."""

from __future__ import annotations

from tidings.core.producers import shown
from tidings.errors import CallerError, TidingsError


class HubFullError(CallerError):
    """The hub holds as much as it may; nothing that was accepted is lost."""


class NotThereError(CallerError):
    """What a request names is not known here."""


class UnknownSessionError(CallerError):
    """A session that is not registered, or was forgotten because nothing was heard of it."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        super().__init__(f"session {shown(session_id)} is not registered; register it first")


class HubError(TidingsError):
    """The hub cannot be started, found or used; the message says why and what to do."""
