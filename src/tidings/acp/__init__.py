"""The Agent Client Protocol: an agent that editors can remind, a host for any agent, and an interposer.

The agent and the host stand on the official SDK (`pip install tidings[acp]`); the interposer passes bytes
and imports none of it. The names below are the host's; each is loaded when first used, so that importing
this package loads no SDK.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tidings.acp.capabilities import Capabilities as Capabilities
    from tidings.acp.host.client import Client as Client
    from tidings.acp.host.client import Deadlines as Deadlines
    from tidings.acp.host.client import PermissionOption as PermissionOption
    from tidings.acp.host.client import PermissionRequest as PermissionRequest
    from tidings.acp.host.client import ReadFile as ReadFile
    from tidings.acp.host.client import WriteFile as WriteFile
    from tidings.acp.host.events import Deduped as Deduped
    from tidings.acp.host.events import Emitted as Emitted
    from tidings.acp.host.events import Expired as Expired
    from tidings.acp.host.failure import AgentAnswerError as AgentAnswerError
    from tidings.acp.host.failure import AgentDeadlineError as AgentDeadlineError
    from tidings.acp.host.failure import AgentDiedError as AgentDiedError
    from tidings.acp.host.failure import AgentRefusedError as AgentRefusedError
    from tidings.acp.host.failure import AgentStartError as AgentStartError
    from tidings.acp.host.failure import BeyondError as BeyondError
    from tidings.acp.host.failure import BusyError as BusyError
    from tidings.acp.host.failure import HostClosedError as HostClosedError
    from tidings.acp.host.failure import HostError as HostError
    from tidings.acp.host.failure import NotAdvertisedError as NotAdvertisedError
    from tidings.acp.host.feed import Subscription as Subscription
    from tidings.acp.host.feed import Update as Update
    from tidings.acp.host.host import Host as Host
    from tidings.acp.host.notes import Note as Note
    from tidings.acp.host.offer import Lowered as Lowered
    from tidings.acp.host.reminding import Reminded as Reminded
    from tidings.acp.host.session import Prompted as Prompted
    from tidings.acp.host.session import Session as Session

_HOME = {
    "capabilities": ("Capabilities",),
    "host.client": (
        "Client",
        "Deadlines",
        "PermissionOption",
        "PermissionRequest",
        "ReadFile",
        "WriteFile",
    ),
    "host.events": ("Deduped", "Emitted", "Expired"),
    "host.failure": (
        "AgentAnswerError",
        "AgentDeadlineError",
        "AgentDiedError",
        "AgentRefusedError",
        "AgentStartError",
        "BeyondError",
        "BusyError",
        "HostClosedError",
        "HostError",
        "NotAdvertisedError",
    ),
    "host.feed": ("Subscription", "Update"),
    "host.host": ("Host",),
    "host.notes": ("Note",),
    "host.offer": ("Lowered",),
    "host.reminding": ("Reminded",),
    "host.session": ("Prompted", "Session"),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = [*_MODULE_OF]


def __getattr__(name: str) -> object:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'tidings.acp' has no attribute {name!r}")
    try:
        value: object = getattr(import_module(f"tidings.acp.{module}"), name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "acp":
            raise
        fix = f"tidings.acp.{name} needs the package agent-client-protocol: pip install 'tidings[acp]'"
        raise ImportError(fix, name=error.name) from error
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
