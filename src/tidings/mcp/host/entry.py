"""A server as an editor names it in ACP's `session/new`, as a `config.Server`. Pure.

There `mcpServers` is a list, and environment and headers are lists of `{name, value}`.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidings.core.producers import shown
from tidings.core.reminder import Payload
from tidings.mcp.config import ConfigError, Server, read_server

_KINDS = (None, "stdio", "http")


def from_acp(entry: object) -> Server:
    """The server that an entry of ACP's list describes: a command with args and env, or a url with headers.

    Raises:
        ConfigError: says what of the entry is wrong.
    """
    if not isinstance(entry, Mapping):
        raise ConfigError(f"an entry of mcpServers must be an object; got {shown(entry)}")
    name, kind = entry.get("name"), entry.get("type")
    if not isinstance(name, str) or not name.strip():
        raise ConfigError(f"an entry of mcpServers needs a `name`; got {shown(name)}")
    if kind not in _KINDS:
        raise ConfigError(f"mcpServers.{name}: `type` must be stdio or http; got {shown(kind)}")
    known: Payload = {key: entry[key] for key in ("command", "args", "cwd", "url") if entry.get(key)}
    for key in ("env", "headers"):
        if entry.get(key):
            known[key] = _pairs(entry[key], f"mcpServers.{name}.{key}")
    return read_server(name, known, _Verbatim())


class _Verbatim(dict[str, str]):
    """An environment in which `${NAME}` stands for itself: an editor's values are no templates."""

    def get(self, key: str, default: object = None) -> str:
        """The same words again."""
        return f"${{{key}}}" if default is None else f"${{{key}:-{default}}}"


def _pairs(value: object, place: str) -> dict[str, str]:
    """A list of `{name, value}`, or an object, as a mapping."""
    if isinstance(value, Mapping):
        return {str(name): str(text) for name, text in value.items()}
    if isinstance(value, list) and all(_is_pair(pair) for pair in value):
        return {pair["name"]: pair["value"] for pair in value}
    raise ConfigError(f"{place}: must be a list of {{name, value}}; got {_blank(value)}")


def _is_pair(pair: object) -> bool:
    return isinstance(pair, Mapping) and all(isinstance(pair.get(key), str) for key in ("name", "value"))


def _blank(value: object) -> str:
    """What it is, without its content: it may hold secrets."""
    return f"a {type(value).__name__}"
