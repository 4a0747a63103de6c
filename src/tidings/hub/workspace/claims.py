"""What a config would have run, reached or granted. Pure.

A file may be changed by whoever can write in the folder, also by the agent that works there. So a changed
file is used by itself only when it claims nothing new; anything else waits until its owner attaches the
folder again (`tidings up`).
"""

from __future__ import annotations

import msgspec

from tidings.hub.workspace import settings

_HARMLESS = ("only", "every", "deadline", "report", "first", "poll", "enabled", "budget", "repositories")
"""The fields of a watcher or server that let it do nothing more than before."""


def claims(config: settings.Config | None) -> frozenset[str]:
    """Everything in a config that somebody should have read before it is used."""
    if config is None:
        return frozenset()
    watch = config.watch
    sections: dict[str, settings.Section | None] = {
        "files": watch.files,
        "tests": watch.tests,
        "reviews": watch.reviews,
        **{f"command {name}": check for name, check in watch.commands.items()},
        **{f"server {name}": server for name, server in config.servers.items()},
    }
    claimed = {_claim(name, section) for name, section in sections.items() if section is not None}
    claimed |= {f"grant {name} {power}" for name, powers in config.grants.items() for power in powers}
    return frozenset(claimed | {f"tag {tag}" for tag in config.sessions.tags})


def _claim(name: str, section: settings.Section) -> str:
    given = msgspec.to_builtins(section)
    told = {field: value for field, value in given.items() if field not in _HARMLESS}
    return f"{name} {msgspec.json.encode(told, order='deterministic').decode()}"
