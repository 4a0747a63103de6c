"""The error of doors, apart from them: it loads msgspec, and an interposer should start without that.

Those who open doors ask `door_error` for the class when something failed; everybody else imports it.
"""

from __future__ import annotations

from tidings.errors import TidingsError


class DoorError(TidingsError):
    """A door that cannot be opened, found or used; the message says which and why."""
