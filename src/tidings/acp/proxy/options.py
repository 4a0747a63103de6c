"""The options of `tidings acp-proxy`, read without a library: an editor waits for this program to start.

`cli.acp_proxy` declares the same options for `--help`; a test holds the two together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tidings.errors import CallerError

WITH_VALUE = {"--socket": "socket", "--log": "log"}
FLAGS = {
    "--no-socket": "no_socket",
    "--no-rfc": "no_rfc",
    "--quiet": "quiet",
    "--no-hub": "no_hub",
}


class Options(NamedTuple):
    """What was asked for. Without a command the program is a proxy in somebody's chain."""

    command: tuple[str, ...] = ()
    socket: str | None = None
    log: str | None = None
    no_socket: bool = False
    no_rfc: bool = False
    quiet: bool = False
    no_hub: bool = False


def read_options(arguments: Sequence[str]) -> Options:
    """The options before `--`, and the agent's command behind it.

    Raises:
        CallerError: naming the argument that is wrong.
    """
    given: dict[str, str | bool] = {}
    own, command = _split(arguments)
    waiting = iter(own)
    for argument in waiting:
        name, equals, value = argument.partition("=")
        if name in FLAGS and not equals:
            given[FLAGS[name]] = True
        elif name in WITH_VALUE:
            found = value if equals else next(waiting, "")
            if not found:
                raise _wrong(f"{name} needs a value")
            given[WITH_VALUE[name]] = found
        else:
            raise _wrong(_unknown(argument))
    if given.get("socket") and given.get("no_socket"):
        raise _wrong("--socket and --no-socket exclude each other")
    return Options(command=command, **given)  # type: ignore[arg-type]  # the tables name its fields


def _split(arguments: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    if "--" not in arguments:
        return list(arguments), ()
    at = list(arguments).index("--")
    command = tuple(arguments[at + 1 :])
    if not command:
        raise _wrong("an agent command must follow `--`; leave `--` out to run inside a proxy chain")
    return list(arguments[:at]), command


def _unknown(argument: str) -> str:
    if argument.startswith("-"):
        known = ", ".join((*WITH_VALUE, *FLAGS))
        return f"unknown option {argument!r:.80}; there are {known}"
    return f"unexpected {argument!r:.80}; the agent's command goes behind `--`"


def _wrong(text: str) -> CallerError:
    from tidings.errors import CallerError  # only a mistake pays for loading it

    return CallerError(text)
