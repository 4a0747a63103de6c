"""The words of the reminder extension on the MCP wire, and the two profiles of its listen streams. Data.

Every name is here once: should the protocol adopt `notifications/reminder` itself, this page changes.
"""

from __future__ import annotations

import msgspec

EXTENSION = "dev.tidings/reminders"
"""The extension's id: in `capabilities.extensions`, and as filter key of `subscriptions/listen`."""

METHOD = "notifications/reminder"
FALLBACK_METHOD = "notifications/message"
"""The old carrier, read and never written: a log message with `_meta.harn.reminder`."""

SESSION_META = "dev.tidings/session"
"""Where a listen stream's conversation handle is echoed, in the `_meta` of params."""

SUBSCRIPTION_META = "io.modelcontextprotocol/subscriptionId"
VERSION_META = "io.modelcontextprotocol/protocolVersion"
CLIENT_META = "io.modelcontextprotocol/clientCapabilities"

MODERN = "2026-07-28"
LEGACY = "2025-11-25"

LISTEN = "subscriptions/listen"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
CANCELLED = "notifications/cancelled"
PROGRESS = "notifications/progress"
TOOLS_CHANGED = "notifications/tools/list_changed"
PROMPTS_CHANGED = "notifications/prompts/list_changed"
RESOURCES_CHANGED = "notifications/resources/list_changed"
RESOURCE_UPDATED = "notifications/resources/updated"

MISSING_CAPABILITY = -32021

OWN_WRITES = "report_own_writes"
"""The tool by which a host tells a watcher which files the agent wrote itself."""


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """How a listen stream is spoken (decision 27). Readers accept both profiles, always."""

    name: str
    ids_as_text: bool
    cancelled_at_end: bool
    header_mismatch: int


RELEASED = Profile(name=MODERN, ids_as_text=False, cancelled_at_end=False, header_mismatch=-32020)
DRAFT = Profile(name="draft-2026-06", ids_as_text=True, cancelled_at_end=True, header_mismatch=-32001)

PROFILES: dict[str, Profile] = {profile.name: profile for profile in (RELEASED, DRAFT)}
"""The released text of 2026-07-28, and the draft of seed 002 to the letter."""
