"""Who hears what: the enabled providers by event, each with its settings, worked out once.

The options of a loop do not change and providers are registered now and then, so a loop keeps its lineup
until one is. Built from options and registry; `evaluation.py` asks those it lists.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import msgspec

from tidings.agent.providers.options import body_budget, config_of, enabled_providers, settings
from tidings.agent.providers.table import TABLE
from tidings.agent.registration import Provider
from tidings.agent.registry import Registry
from tidings.core.reminder import Payload


class Listener(msgspec.Struct, frozen=True):
    """One enabled provider; `custom` is None for a canonical one, whose config `settings` completes."""

    provider_id: str
    custom: Provider | None
    config: Mapping[str, object]
    settings: Payload

    @property
    def events(self) -> tuple[str, ...]:
        """The names of the events it hears."""
        return TABLE[self.provider_id].subscribes_to if self.custom is None else self.custom.subscribes_to


class Lineup:
    """The enabled providers, canonical ones in table order, then custom ones by registration.

    Raises:
        ReminderOptionsError: options that `check_providers` would have refused.
    """

    def __init__(
        self, options: Mapping[str, object], registry: Registry, once_known: Collection[str] = ()
    ) -> None:
        self.options = options
        self.body_budget = body_budget(options)
        self.window = config_of(options, "token_pressure").get("context_window")
        self._by_event: dict[str, list[Listener]] = {}
        for listener in _listeners(options, registry, once_known):
            for event in listener.events:
                self._by_event.setdefault(event, []).append(listener)

    @property
    def events(self) -> frozenset[str]:
        """What somebody hears."""
        return frozenset(self._by_event)

    def hearing(self, event: str) -> list[Listener]:
        """Those who hear `event`, in the order they are asked."""
        return self._by_event.get(event, [])


def _listeners(
    options: Mapping[str, object], registry: Registry, once_known: Collection[str]
) -> list[Listener]:
    custom = {provider.id: provider for provider in registry.providers}
    return [
        _listener(provider_id, custom.get(provider_id), config_of(options, provider_id))
        for provider_id in enabled_providers(options, registry, once_known)
    ]


def _listener(provider_id: str, custom: Provider | None, config: Mapping[str, object]) -> Listener:
    completed = settings(TABLE[provider_id], config) if custom is None else {}
    return Listener(provider_id, custom, config, completed)
