"""The registry: hooks and custom reminder providers, in the order in which they were registered.

`default_registry` is the one that a loop reads unless it is given another; the functions at the
end of this page act on it. Each registering function is a decorator when its function is left out;
otherwise it gives a handle whose `unregister()` takes the registration back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias, TypeVar, cast, overload

import msgspec

from tidings.agent.calling import DEADLINE
from tidings.agent.events import HookEvent
from tidings.agent.registration import (
    CANONICAL,
    Function,
    Hook,
    Provider,
    RegistrationError,
    name_of,
    read_deadline,
    read_events,
    read_function,
    read_kinds,
    read_patterns,
    read_subscriptions,
)
from tidings.core.producers import shown

F = TypeVar("F", bound=Callable[..., object])
Decorator: TypeAlias = Callable[[F], F]
_Heard: TypeAlias = tuple[tuple[str, ...], tuple[str, ...]]
_TOOL_KEYS = ("pattern", "pre", "post", "deadline")
_PROVIDER_KEYS = ("id", "subscribes_to", "evaluate", "deadline")


class Registered(msgspec.Struct, frozen=True, eq=False):
    """What was registered by one call; `unregister()` takes it back."""

    registry: Registry
    entries: tuple[Hook | Provider, ...]

    def unregister(self) -> None:
        """Take it back; nothing happens when it is gone already."""
        self.registry.remove(self.entries)


class Registrar:
    """Registers functions for the events of some families, or for seams."""

    def __init__(self, registry: Registry, read: Callable[[object, object], _Heard]) -> None:
        self._registry = registry
        self._read = read

    @overload
    def __call__(
        self, event: object, function: None = None, /, *, pattern: object = None, deadline: float = DEADLINE
    ) -> Decorator[F]: ...
    @overload
    def __call__(
        self, event: object, function: Function, /, *, pattern: object = None, deadline: float = DEADLINE
    ) -> Registered: ...
    def __call__(
        self,
        event: object,
        function: Function | None = None,
        /,
        *,
        pattern: object = None,
        deadline: float = DEADLINE,
    ) -> Registered | Decorator[F]:
        """Call `function` at `event` (a name or a list), if its subject matches `pattern`.

        Raises:
            UnknownEventError: an unknown event, with near matches, or another registrar's.
            RegistrationError: a wrong seam, pattern, function or deadline.
        """
        (events, patterns), seconds = self._read(event, pattern), read_deadline(deadline)

        def add(given: object) -> Registered:
            known = read_function("a hook", given)
            return self._registry.add((Hook(name_of(known), events, known, patterns, seconds),))

        return _now_or_decorated(function, add)


class Registry:
    """Hooks and providers. What it holds are snapshots, so registering during a pass is safe."""

    def __init__(self) -> None:
        self.hooks: tuple[Hook, ...] = ()
        self.providers: tuple[Provider, ...] = ()
        self.register_session_hook = Registrar(self, _reader("register_session_hook"))
        self.register_step_hook = Registrar(self, _reader("register_step_hook"))
        self.register_persona_hook = Registrar(self, _reader("register_persona_hook"))
        self.register_worker_hook = Registrar(self, _reader("register_worker_hook"))
        self.register_checkpoint_hook = Registrar(self, _read_checkpoint)

    def matching(self, event: HookEvent, payload: Mapping[str, object]) -> tuple[Hook, ...]:
        """The hooks to call for `event`, in order of registration."""
        return tuple(hook for hook in self.hooks if hook.hears(event, payload))

    def add(self, hooks: tuple[Hook, ...]) -> Registered:
        """Keep these hooks, behind the others."""
        self.hooks += hooks
        return Registered(self, hooks)

    def remove(self, entries: tuple[Hook | Provider, ...]) -> None:
        """Forget these entries."""
        self.hooks = tuple(hook for hook in self.hooks if hook not in entries)
        self.providers = tuple(provider for provider in self.providers if provider not in entries)

    def clear_reminder_providers(self) -> None:
        """Forget every custom provider; the canonical ones stay."""
        self.providers = ()

    def clear_hooks(self) -> None:
        """Forget every hook."""
        self.hooks = ()

    @overload
    def register_tool_hook(
        self, options: Mapping[str, object], /, *, deadline: float = DEADLINE
    ) -> Registered: ...
    @overload
    def register_tool_hook(
        self, /, *, pattern: object = None, when: Literal["pre", "post"], deadline: float = DEADLINE
    ) -> Decorator[F]: ...
    @overload
    def register_tool_hook(
        self,
        /,
        *,
        pattern: object = None,
        pre: Function | None = None,
        post: Function | None = None,
        deadline: float = DEADLINE,
    ) -> Registered: ...
    def register_tool_hook(
        self,
        options: Mapping[str, object] | None = None,
        /,
        *,
        pattern: object = None,
        pre: Function | None = None,
        post: Function | None = None,
        when: Literal["pre", "post"] | None = None,
        deadline: float = DEADLINE,
    ) -> Registered | Decorator[F]:
        """Call `pre` before and `post` after each use of a tool whose name matches `pattern`.

        Takes keywords or one mapping; with `when` it is a decorator. `pre` may refuse the call or
        change `args`, `post` may change the `result`.

        Raises:
            RegistrationError: no function given, or a wrong pattern, function or deadline.
        """
        keywords = {"pattern": pattern, "pre": pre, "post": post}
        given = _merged("register_tool_hook", options, keywords, _TOOL_KEYS)
        if when is not None:
            return _now_or_decorated(
                None, lambda function: self._tool_hooks({**given, when: function}, deadline)
            )
        return self._tool_hooks(given, deadline)

    def _tool_hooks(self, given: Mapping[str, object], deadline: float) -> Registered:
        sides = {side: given[side] for side in ("pre", "post") if given.get(side) is not None}
        if not sides:
            raise RegistrationError("register_tool_hook: give `pre`, `post` or both")
        seconds, patterns = (
            read_deadline(given.get("deadline", deadline)),
            read_patterns(given.get("pattern")),
        )
        read = {f"{side}_tool_use": read_function(f"`{side}`", item) for side, item in sides.items()}
        return self.add(
            tuple(
                Hook(name_of(function), (event,), function, patterns, seconds)
                for event, function in read.items()
            )
        )

    @overload
    def register_reminder_provider(
        self, options: Mapping[str, object], /, *, deadline: float = DEADLINE
    ) -> Registered: ...
    @overload
    def register_reminder_provider(
        self, /, *, id: str, subscribes_to: object, evaluate: None = None, deadline: float = DEADLINE
    ) -> Decorator[F]: ...
    @overload
    def register_reminder_provider(
        self, /, *, id: str, subscribes_to: object, evaluate: Function, deadline: float = DEADLINE
    ) -> Registered: ...
    def register_reminder_provider(
        self,
        options: Mapping[str, object] | None = None,
        /,
        *,
        id: str | None = None,
        subscribes_to: object = None,
        evaluate: Function | None = None,
        deadline: float = DEADLINE,
    ) -> Registered | Decorator[F]:
        """Ask `evaluate` for reminders at the events of `subscribes_to`; keywords or one mapping.

        The same id again replaces the older one and moves to the end.

        Raises:
            RegistrationError: a blank or canonical id, or a wrong function or deadline.
            UnknownEventError: an event that does not exist or that providers cannot hear.
        """
        keywords = {"id": id, "subscribes_to": subscribes_to, "evaluate": evaluate}
        given = _merged("register_reminder_provider", options, keywords, _PROVIDER_KEYS)
        name = _provider_id(given.get("id"))
        events = read_subscriptions(name, given.get("subscribes_to"))
        seconds = read_deadline(given.get("deadline", deadline))
        if options is not None and given.get("evaluate") is None:
            raise RegistrationError(f"provider {name!r}: give `evaluate`, the function to ask")

        def add(function: object) -> Registered:
            provider = Provider(name, events, read_function("`evaluate`", function), seconds)
            self.providers = (*(p for p in self.providers if p.id != name), provider)
            return Registered(self, (provider,))

        return _now_or_decorated(given.get("evaluate"), add)


def _now_or_decorated(function: object, add: Callable[[object], Registered]) -> Registered | Decorator[F]:
    """Add `function` now, or when the decorator gets it."""
    if function is not None:
        return add(function)

    def decorator(decorated: F) -> F:
        add(decorated)
        return decorated

    return decorator


def _reader(registrar: str) -> Callable[[object, object], _Heard]:
    return lambda event, pattern: (read_events(registrar, event), read_patterns(pattern))


def _read_checkpoint(kinds: object, _: object) -> _Heard:
    return ("loop_checkpoint",), read_kinds(kinds)


def _merged(
    registrar: str, options: object, keywords: Mapping[str, object], known: tuple[str, ...]
) -> dict[str, object]:
    """What was given, as one mapping or as keywords."""
    if options is not None and not isinstance(options, Mapping):
        raise RegistrationError(f"{registrar} takes keywords or one mapping; got {shown(options)}")
    given = dict(cast("Mapping[str, object]", options or {}))
    if unknown := sorted(str(key) for key in given if key not in known):
        raise RegistrationError(f"{registrar}: unknown {', '.join(unknown)}; known are {', '.join(known)}")
    return given | {key: value for key, value in keywords.items() if value is not None}


def _provider_id(given: object) -> str:
    if not isinstance(given, str) or not given.strip() or given.strip().startswith("-"):
        fix = "must be a non-blank string that does not begin with '-'"
        raise RegistrationError(f"a provider's `id` {fix}; got {shown(given)}")
    if given.strip() in CANONICAL:
        raise RegistrationError(f"{given.strip()!r} is a canonical provider; choose another id")
    return given.strip()


default_registry = Registry()

register_tool_hook = default_registry.register_tool_hook
register_session_hook = default_registry.register_session_hook
register_step_hook = default_registry.register_step_hook
register_persona_hook = default_registry.register_persona_hook
register_worker_hook = default_registry.register_worker_hook
register_checkpoint_hook = default_registry.register_checkpoint_hook
register_reminder_provider = default_registry.register_reminder_provider
clear_reminder_providers = default_registry.clear_reminder_providers
