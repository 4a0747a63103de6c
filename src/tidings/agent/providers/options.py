"""Reading `reminders` of the loop's options: which providers are enabled, and with what config.

The forms are those of seed 001 ("Canonical stdlib providers"): `False`, `{"enabled": False}`, a `providers`
list read from left to right, and config under `config.<id>` or directly under `<id>`. Mistakes are
errors when the loop starts (`check_providers`), never at turn 40.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from tidings.agent.events import near_matches
from tidings.agent.providers.situation import mapping
from tidings.agent.providers.table import TABLE, Key, Row
from tidings.agent.registry import Registry
from tidings.core.producers import shown
from tidings.core.reminder import Payload
from tidings.errors import CallerError, DiagnosticError, Problem

MAX_CUSTOM = 8
"""How many custom providers may be enabled at once (decision 15)."""
BODY_BUDGET = 16 * 1024
"""Bytes of reminder bodies that one pass may add."""
LEAST_BUDGET = 256

_KEYS = ("enabled", "providers", "config", "body_budget")


class ReminderOptionsError(CallerError):
    """The loop's `reminders` option is wrong: the message names the key, the value and the fix."""


def reminders_of(options: Mapping[str, object]) -> Mapping[str, object]:
    """The `reminders` option as a mapping; `{"enabled": False}` for False.

    Raises:
        ReminderOptionsError: neither a mapping nor true or false.
    """
    given = options.get("reminders")
    if given is None or isinstance(given, bool):
        return {"enabled": given is not False}
    if isinstance(given, Mapping):
        return given
    raise ReminderOptionsError(f"`reminders` must be false or a mapping; got {shown(given)}")


def enabled_providers(
    options: Mapping[str, object], registry: Registry, once_known: Collection[str] = ()
) -> tuple[str, ...]:
    """The ids of the enabled providers: canonical ones in table order, then custom by registration.

    `once_known` may be named too: providers that were unregistered since the options were checked.

    Raises:
        ReminderOptionsError: an unknown id, or a wrong shape.
    """
    given = reminders_of(options)
    known = (*TABLE, *(provider.id for provider in registry.providers))
    enabled = dict.fromkeys(known, True)
    for name in _names(given.get("providers")):
        provider = name.strip().removeprefix("-").strip()
        if provider in once_known and provider not in enabled:
            continue
        if provider not in enabled:
            hint = near_matches(provider, known)
            raise ReminderOptionsError(
                f"`reminders.providers` names {provider!r}, which is no provider; {hint}"
            )
        enabled[provider] = not name.strip().startswith("-")
    if not _flag(given.get("enabled")):
        return ()
    return tuple(provider for provider in known if enabled[provider])


def check_providers(options: Mapping[str, object], registry: Registry) -> tuple[str, ...]:
    """The enabled ids, once every provider option is known to be right: called when a loop starts.

    Raises:
        DiagnosticError: HARN-RMD-007, more than eight custom providers are enabled.
        ReminderOptionsError: anything else that is wrong.
    """
    enabled = enabled_providers(options, registry)
    custom = [provider for provider in enabled if provider not in TABLE]
    if len(custom) > MAX_CUSTOM:
        names = ", ".join(custom)
        fix = f"{len(custom)} custom providers are on, {MAX_CUSTOM} may be; disable some by '-id': {names}"
        raise DiagnosticError("reminder providers", (Problem("HARN-RMD-007", "providers", names, fix),))
    known = (*TABLE, *(provider.id for provider in registry.providers))
    for row in TABLE.values():
        settings(row, config_of(options, row.id))
    _check_names("reminders", reminders_of(options), (*_KEYS, *known))
    _check_names("reminders.config", mapping(reminders_of(options).get("config")), known)
    body_budget(options)
    return enabled


def _check_names(place: str, given: Mapping[str, object], known: tuple[str, ...]) -> None:
    for name in given:
        if name not in known:
            raise ReminderOptionsError(f"unknown `{place}.{name}`; {near_matches(name, known)}")


def config_of(options: Mapping[str, object], id: str) -> Mapping[str, object]:
    """The config of one provider: `reminders.config.<id>`, else `reminders.<id>`.

    Raises:
        ReminderOptionsError: it is no mapping.
    """
    given = reminders_of(options)
    shelf = given.get("config")
    if shelf is not None and not isinstance(shelf, Mapping):
        raise ReminderOptionsError(
            f"`reminders.config` must be a mapping of provider ids; got {shown(shelf)}"
        )
    config = shelf.get(id) if shelf is not None and id in shelf else given.get(id)
    if config is None:
        return {}
    if not isinstance(config, Mapping):
        raise ReminderOptionsError(f"the config of {id!r} must be a mapping; got {shown(config)}")
    return config


def body_budget(options: Mapping[str, object]) -> int:
    """How many bytes of bodies one pass may add.

    Raises:
        ReminderOptionsError: not a whole number of at least 256.
    """
    given = reminders_of(options).get("body_budget", BODY_BUDGET)
    if isinstance(given, bool) or not isinstance(given, int) or given < LEAST_BUDGET:
        fix = f"must be a whole number of bytes, {LEAST_BUDGET} or more"
        raise ReminderOptionsError(f"`reminders.body_budget` {fix}; got {shown(given)}")
    return given


def settings(row: Row, config: Mapping[str, object]) -> Payload:
    """The config of a canonical provider with its defaults filled in.

    Raises:
        ReminderOptionsError: an unknown key, or a value of the wrong kind or out of range.
    """
    names = tuple(key.name for key in row.keys)
    for name in config:
        if name not in names:
            hint = near_matches(name, names) if names else "it takes no config"
            raise ReminderOptionsError(f"unknown `{row.id}.{name}`; {hint}")
    return {key.name: _setting(row.id, key, config.get(key.name)) for key in row.keys}


def _setting(id: str, key: Key, given: object) -> object:
    if given is None:
        return key.default
    number = isinstance(given, (int, float)) and not isinstance(given, bool)
    right = {
        "number": number,
        "whole": number and isinstance(given, int),
        "flag": isinstance(given, bool),
        "text": isinstance(given, str) and bool(given.strip()),
        "texts": isinstance(given, (list, tuple)) and all(isinstance(item, str) for item in given),
    }[key.kind]
    if not right or not _in_range(key, given) or not _is_choice(key, given):
        raise ReminderOptionsError(f"`{id}.{key.name}` must be {_wanted(key)}; got {shown(given)}")
    return given


def _in_range(key: Key, given: object) -> bool:
    if key.low is None or not isinstance(given, (int, float)):
        return True
    return given >= key.low and (key.high is None or given <= key.high)


def _is_choice(key: Key, given: object) -> bool:
    words = [given] if isinstance(given, str) else given if isinstance(given, (list, tuple)) else []
    return not key.choices or all(str(word).strip().lower() in key.choices for word in words)


def _wanted(key: Key) -> str:
    words = {
        "number": "a number",
        "whole": "a whole number",
        "flag": "true or false",
        "text": "a non-blank string",
        "texts": "a list of strings",
    }[key.kind]
    if key.choices:
        return f"{words} out of {', '.join(key.choices)}"
    if key.low is None:
        return words
    return f"{words} from {key.low:g}" + (f" to {key.high:g}" if key.high is not None else " up")


def _flag(given: object) -> bool:
    if given is None or isinstance(given, bool):
        return given is not False
    raise ReminderOptionsError(f"`reminders.enabled` must be true or false; got {shown(given)}")


def _names(given: object) -> Sequence[str]:
    if given is None:
        return ()
    if isinstance(given, (list, tuple)) and all(isinstance(name, str) for name in given):
        return given
    fix = 'must be a list of ids, such as ["-idle_nudge"]'
    raise ReminderOptionsError(f"`reminders.providers` {fix}; got {shown(given)}")
