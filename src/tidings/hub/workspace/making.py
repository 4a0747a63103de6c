"""From a config to what is to be kept going: one `Plan` for each watcher and MCP server.

A plan is compared by its settings, so that reading a file again leaves alone what did not change. `make`
gives the watcher anew for each start: what it needs and does not find (a variable, a folder, an extra) is a
failure of that start, told like any other. Nothing heavy is imported before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from tidings.hub.workspace import settings
from tidings.hub.workspace.keeping import Source
from tidings.hub.workspace.sense import argv
from tidings.watchers.own import OwnWrites
from tidings.watchers.reviews.items import Shape, shape

Kind: TypeAlias = Literal["files", "tests", "command", "reviews", "server"]

OURS = "tidings/"
"""What the origins of our own watchers begin with; the name of a server holds no slash."""


class Place(msgspec.Struct, frozen=True):
    """Where watchers work: the folder of the config, the environment for what they start, own writes."""

    folder: Path
    environ: Mapping[str, str]
    own: OwnWrites | None = None

    def __repr__(self) -> str:
        """Without the environment: it holds secrets."""
        return f"Place({str(self.folder)!r})"


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to keep going, and what its news may do."""

    kind: Kind
    name: str
    section: settings.Section
    grants: frozenset[str]
    limits: settings.Limits
    make: Callable[[Place], Source]

    @property
    def origin(self) -> str:
        """What its reminders carry."""
        return self.name if self.kind == "server" else f"{OURS}{self.name}"

    @property
    def same(self) -> object:
        """What tells it from another plan; `make` follows from it."""
        return (self.kind, self.name, self.section, self.grants, self.limits)


def plans(config: settings.Config) -> list[Plan]:
    """What a config wants to be kept going, in its order."""
    found = [*_watchers(config), *_servers(config)]
    return [plan for plan in found if getattr(plan.section, "enabled", True)]


def _watchers(config: settings.Config) -> Iterator[Plan]:
    watch = config.watch
    if watch.files is not None:
        yield _plan(config, "files", "files", watch.files, _files)
    if watch.tests is not None:
        yield _plan(config, "tests", "tests", watch.tests, _tests)
    for name, check in watch.commands.items():
        yield _plan(config, "command", name, check, _command)
    if watch.reviews is not None and watch.reviews.poll_url is not None:
        yield _plan(config, "reviews", "reviews", watch.reviews, _poller)
    if watch.reviews is not None and watch.reviews.secret_env:
        name = "reviews" if watch.reviews.poll_url is None else "reviews-webhook"
        yield _plan(config, "reviews", name, watch.reviews, _receiver)


def _plan(
    config: settings.Config, kind: Kind, name: str, section: settings.Section, make: Callable[..., Source]
) -> Plan:
    granted = config.grants.get("reviews" if kind == "reviews" else name, ())
    return Plan(
        kind=kind,
        name=name,
        section=section,
        grants=frozenset(granted),
        limits=config.budget,
        make=lambda place: make(name, section, place),
    )


def _servers(config: settings.Config) -> Iterator[Plan]:
    for name, server in config.servers.items():
        yield Plan(
            kind="server",
            name=name,
            section=server,
            grants=frozenset(server.grants),
            limits=server.budget,
            make=lambda place, name=name, server=server: _server(name, server, place),  # type: ignore[misc]
        )


def _files(name: str, section: settings.Files, place: Place) -> Source:
    from tidings.watchers.files import FileWatcher

    folder = place.folder / section.folder
    return FileWatcher(folder, patterns=section.only, own=place.own, poll=section.poll or None, name=name)


def _tests(name: str, section: settings.Suite, place: Place) -> Source:
    from tidings.watchers.suites import SuiteWatcher

    return SuiteWatcher(
        None if section.command is None else argv(section.command),
        place.folder / section.folder,
        patterns=section.only,
        interval=section.every,
        deadline=section.deadline,
        poll=section.poll or None,
        environ=place.environ,
        name=name,
    )


def _command(name: str, section: settings.Check, place: Place) -> Source:
    from tidings.watchers.command import CommandWatcher

    return CommandWatcher(
        argv(section.command),
        place.folder / section.folder,
        patterns=section.only,
        interval=section.every,
        deadline=section.deadline,
        report=section.report,
        first=section.first,
        poll=section.poll or None,
        environ=place.environ,
        name=name,
    )


def _poller(name: str, section: settings.Reviews, place: Place) -> Source:
    from tidings.watchers.reviews.made import poller

    assert section.poll_url is not None
    return poller(
        section.poll_url,
        form=_form(section),
        token_env=section.token_env,
        every=section.every,
        name=name,
        environ=place.environ,
    )


def _receiver(name: str, section: settings.Reviews, place: Place) -> Source:
    from tidings.watchers.reviews.made import receiver

    return receiver(
        section.secret_env,
        scheme=section.scheme,
        place=(section.host, section.port, section.path),
        repositories=section.repositories,
        form=_form(section),
        name=name,
        environ=place.environ,
    )


def _form(section: settings.Reviews) -> Shape:
    return shape(items=section.items, id=section.id, title=section.title, state=section.state)


def _server(name: str, section: settings.Server, place: Place) -> Source:
    from tidings.hub.workspace.relaying import relay

    return relay(name, section, place)
