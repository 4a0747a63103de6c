"""The config file of MCP servers, in the shape people know: `{"mcpServers": {name: …}}`. Pure.

A server is a command to start or a url to connect to; what is ours stands under its key `tidings`:
grants, a budget, rules, which tools to offer, whether to tell it what the agent writes. `${NAME}` in
values is filled from the environment that is handed in; every problem of a file is named at once, with
its place.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, TypeAlias

import msgspec

from tidings.core.producers import shown
from tidings.core.trust import POWERS
from tidings.errors import CallerError
from tidings.mcp.budget import Budget
from tidings.mcp.rules import DEFAULTS, Rule

Era: TypeAlias = Literal["auto", "legacy", "modern"]


class ConfigError(CallerError):
    """A config that cannot be used; says every problem and its place."""


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """One configured server: `command` or `url`, and how it is to be treated."""

    name: str
    command: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    cwd: str | None = None
    url: str | None = None
    headers: Mapping[str, str] = {}
    era: Era = "auto"
    grants: frozenset[str] = frozenset()
    budget: Budget = Budget()
    rules: tuple[Rule, ...] = DEFAULTS
    tools: tuple[str, ...] | None = None
    own_writes: bool = False
    enabled: bool = True

    def __repr__(self) -> str:
        """Without `env` and `headers`: they hold secrets."""
        return f"Server({self.name!r}, {self.url or ' '.join(self.command)!r})"


class _Ours(msgspec.Struct, forbid_unknown_fields=True):
    era: Era = "auto"
    grants: tuple[str, ...] = ()
    budget: Budget = Budget()
    rules: tuple[Rule, ...] = ()
    tools: tuple[str, ...] | None = None
    own_writes: bool = False
    enabled: bool = True


class _Entry(msgspec.Struct):
    """One entry as it stands in a file; unknown keys of other hosts are left alone."""

    command: str | None = None
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    cwd: str | None = None
    url: str | None = None
    headers: dict[str, str] = {}
    disabled: bool = False
    tidings: _Ours = msgspec.field(default_factory=_Ours)


def read_config(config: object, environment: Mapping[str, str]) -> tuple[Server, ...]:
    """The servers of a decoded config file, in its order.

    Raises:
        ConfigError: with every problem.
    """
    listed = config.get("mcpServers") if isinstance(config, Mapping) else None
    if not isinstance(listed, Mapping):
        raise ConfigError(f'the config needs {{"mcpServers": {{name: …}}}}; got {shown(config)}')
    servers: list[Server] = []
    problems: list[str] = []
    for name, entry in listed.items():
        try:
            servers.append(read_server(str(name), entry, environment))
        except ConfigError as error:
            problems.append(str(error))
    if problems:
        raise ConfigError("; ".join(problems))
    return tuple(servers)


def read_server(name: str, entry: object, environment: Mapping[str, str]) -> Server:
    """One server of a config.

    Raises:
        ConfigError: says where it is wrong.
    """
    place = f"mcpServers.{name}"
    try:
        read = msgspec.convert(filled(entry, environment, place), _Entry)
    except (msgspec.ValidationError, CallerError) as error:
        raise ConfigError(f"{place}: {error}") from None
    if (read.command is None) == (read.url is None):
        raise ConfigError(f"{place}: give either `command` (a program to start) or `url`, not both or none")
    unknown = sorted(set(read.tidings.grants) - set(POWERS))
    if unknown:
        raise ConfigError(
            f"{place}.tidings.grants: unknown {shown(unknown)}; known are {', '.join(POWERS)}"
        )
    return Server(
        name=name,
        command=() if read.command is None else (read.command, *read.args),
        env=read.env,
        cwd=read.cwd,
        url=read.url,
        headers=read.headers,
        era=read.tidings.era,
        grants=frozenset(read.tidings.grants),
        budget=read.tidings.budget,
        rules=(*read.tidings.rules, *DEFAULTS),
        tools=read.tidings.tools,
        own_writes=read.tidings.own_writes,
        enabled=read.tidings.enabled and not read.disabled,
    )


_NAME = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")


def filled(value: object, environment: Mapping[str, str], place: str) -> object:
    """`value` with `${NAME}` and `${NAME:-default}` filled in.

    Raises:
        ConfigError: a variable that is not set, named with its place.
    """
    if isinstance(value, str):
        return _NAME.sub(lambda found: _one(found, environment, place), value)
    if isinstance(value, Mapping):
        return {key: filled(item, environment, f"{place}.{key}") for key, item in value.items()}
    if isinstance(value, list):
        return [filled(item, environment, place) for item in value]
    return value


def _one(found: re.Match[str], environment: Mapping[str, str], place: str) -> str:
    name, default = found.group(1), found.group(2)
    value = environment.get(name, default)
    if value is None:
        raise ConfigError(f"{place}: ${{{name}}} is not set; set it, or write ${{{name}:-default}}")
    return value
