"""The checks of `tidings doctor`, in the order they are made. To add one, write a function and its line."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

from msgspec.structs import replace

from tidings.cli.doctor.finding import Check, Finding, Here, problem
from tidings.diagnostics.visible import visible
from tidings.errors import TidingsError

CHECKS: dict[str, str] = {
    "python": "tidings.cli.doctor.machine:python",
    "extras": "tidings.cli.doctor.machine:extras",
    "data folder": "tidings.cli.doctor.machine:data_folder",
    "config.toml": "tidings.cli.doctor.machine:settings",
    "token": "tidings.cli.doctor.machine:token",
    "disk": "tidings.cli.doctor.machine:disk",
    "hub": "tidings.cli.doctor.daemon:hub",
    "http": "tidings.cli.doctor.daemon:http",
    "version": "tidings.cli.doctor.daemon:version",
    "log": "tidings.cli.doctor.daemon:log",
    "tidings.toml": "tidings.cli.doctor.project:config",
    "watchers": "tidings.cli.doctor.project:watchers",
    "sessions": "tidings.cli.doctor.project:sessions",
    "agents": "tidings.cli.connecting.checks:checks",
}
"""Each check and its home, `module:name`."""


def findings(here: Here) -> Iterator[Finding]:
    """What every check finds; one that fails is a finding itself."""
    for name, home in CHECKS.items():
        try:
            found = list(_load(home)(here))
        except PermissionError as error:
            text = f"{error.filename} cannot be used: {error.strerror}"
            found = [problem(text, f"chmod u+rwX {error.filename}, and its folder")]
        except TidingsError as error:
            found = [problem(f"this could not be checked: {error}", "mend what it says, then look again")]
        except Exception as error:  # noqa: BLE001 a check that fails must not hide the others
            text = f"this could not be checked: {type(error).__name__}: {error}"
            found = [problem(text, "if it happens again, it is a bug: report it")]
        for one in found:
            yield replace(one, check=name, message=visible(one.message), fix=visible(one.fix))


def _load(home: str) -> Check:
    module, _, name = home.partition(":")
    found: Check = getattr(import_module(module), name)
    return found
