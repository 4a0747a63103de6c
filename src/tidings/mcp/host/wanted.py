"""What a host asks a modern server to tell it, as the filter of `subscriptions/listen`. Pure.

Reminders, if the server advertises them; changed tools, which the host reads again; and whatever else a
rule turns into a reminder. A rule about one resource, without a pattern, is a subscription to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tidings.core.reminder import Payload
from tidings.mcp.events import RESOURCES
from tidings.mcp.names import EXTENSION
from tidings.mcp.rules import Rule

_LISTS = {
    "tools": ("tools_changed", "toolsListChanged"),
    "prompts": ("prompts_changed", "promptsListChanged"),
    "resources": ("resources_changed", "resourcesListChanged"),
}
"""Each capability with a list: the event of a rule about it, and the key of a filter."""

_PATTERN = frozenset("*?[")


def wanted(
    capabilities: Mapping[str, object], rules: Sequence[Rule], handle: str | None, uris: Sequence[str] = ()
) -> Payload:
    """The filter; `handle` names our session to a server that advertises reminders, None to any other."""
    asked: Payload = {}
    for capability, (event, key) in _LISTS.items():
        spoken = any(rule.on == event and rule.body is not None for rule in rules)
        if _says(capabilities, capability, "listChanged") and (spoken or capability == "tools"):
            asked[key] = True
    if uris:
        asked[RESOURCES] = list(uris)
    if handle is not None:
        asked[EXTENSION] = {"session": handle}
    return asked


def uris_of(rules: Sequence[Rule], capabilities: Mapping[str, object]) -> list[str]:
    """The resources that rules name one by one, if the server can tell of them."""
    if not _says(capabilities, "resources", "subscribe"):
        return []
    named = [rule.match for rule in rules if rule.on == "resource_updated" and rule.body is not None]
    return [match for match in dict.fromkeys(named) if not _PATTERN & set(match)]


def _says(capabilities: Mapping[str, object], capability: str, name: str) -> bool:
    found = capabilities.get(capability)
    return isinstance(found, Mapping) and found.get(name) is True
