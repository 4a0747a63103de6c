"""Whether a `Config` makes sense as a whole: names, folders, commands, grants. Pure but for `is_dir`.

What single fields may hold is `settings.py`'s; here is what one field says about another.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from pathlib import Path as Folder

from tidings.core.producers import shown
from tidings.errors import CallerError
from tidings.hub.workspace.problems import Path, Places, Problem
from tidings.hub.workspace.settings import NAME, Check, Command, Config, Reviews, Server
from tidings.watchers.reviews.items import shape
from tidings.watchers.reviews.poller import check_address

OWN = ("files", "tests", "reviews")
"""The names of the watchers that are there once."""


def argv(command: Command) -> tuple[str, ...]:
    """The words of a command; a text is split as a shell would, but no shell runs it.

    Raises:
        ValueError: a quote is left open.
    """
    return tuple(shlex.split(command)) if isinstance(command, str) else command


def sense(config: Config, folder: Folder, places: Places) -> list[Problem]:
    """The problems of a config whose fields are right."""
    found = [*_commands(config), *_servers(config), *_reviews(config.watch.reviews), *_grants(config)]
    found += _folders(config, folder)
    return [
        Problem(field=".".join(path), line=places.line(path), value=value, fix=fix)
        for path, value, fix in found
    ]


_Found = Iterator[tuple[Path, str, str]]


def watchers(config: Config) -> list[str]:
    """The names of the watchers that a config has."""
    single = [name for name in OWN if getattr(config.watch, name) is not None]
    return list(dict.fromkeys((*single, *config.watch.commands)))


def _commands(config: Config) -> _Found:
    for name, check in config.watch.commands.items():
        path = ("watch", "commands", name)
        if name in OWN:
            yield path, "", f"{name!r} is the name of a watcher of its own; choose another"
        yield from _name(name, path)
        yield from _command(check, path)
    if config.watch.tests is not None and config.watch.tests.command is not None:
        yield from _command(config.watch.tests, ("watch", "tests"))


def _name(name: str, path: Path) -> _Found:
    if not re.fullmatch(NAME, name):
        yield path, "", "a name has letters, digits, dots, dashes and underscores, 60 at most"


def _command(section: Check | Server | object, path: Path) -> _Found:
    command = getattr(section, "command", None)
    try:
        words = argv(command) if command is not None else ()
    except ValueError as error:
        yield (*path, "command"), shown(command), f"close its quotes ({error})"
        return
    if command is not None and (not words or not words[0].strip()):
        yield (*path, "command"), shown(command), "name a program to run"


def _servers(config: Config) -> _Found:
    for name, server in config.servers.items():
        path = ("servers", name)
        yield from _name(name, path)
        yield from _command(server, path)
        if (server.command is None) == (server.url is None):
            yield path, "", "give either `command` (a program to start) or `url`, not both and not none"
        if server.url is not None and not server.url.startswith(("http://", "https://")):
            yield (*path, "url"), "", "it must begin with https:// or http://"
        unused = "headers" if server.url is None else "env"
        if getattr(server, unused):
            other = "url" if unused == "headers" else "command"
            yield (*path, unused), "", f"this is for servers with a `{other}`; leave it out"


def _reviews(reviews: Reviews | None) -> _Found:
    path = ("watch", "reviews")
    if reviews is None:
        return
    if not reviews.secret_env and reviews.poll_url is None:
        yield path, "", "give `secret_env` for webhooks, `poll_url` for an endpoint to ask, or both"
    if reviews.poll_url is not None:
        try:
            check_address(reviews.poll_url, secret=reviews.token_env is not None)
        except CallerError as error:
            yield (*path, "poll_url"), "", str(error)
    if not reviews.path.startswith("/"):
        yield (*path, "path"), shown(reviews.path), "it must begin with /"
    for name in ("items", "id", "title", "state"):
        try:
            shape(**{name: getattr(reviews, name)})
        except CallerError as error:
            yield (*path, name), shown(getattr(reviews, name)), str(error)


def _grants(config: Config) -> _Found:
    known = watchers(config)
    for name in config.grants:
        if name in config.servers:
            yield ("grants", name), "", f"grants of a server stand in [servers.{name}]"
        elif name not in known:
            near = get_close_matches(name, known, 1)
            hint = f"did you mean `{near[0]}`? " if near else ""
            there = ", ".join(known) or "none"
            yield ("grants", name), "", f"there is no such watcher; {hint}there are {there}"


def _folders(config: Config, folder: Folder) -> _Found:
    for path, given in _named_folders(config):
        if not (folder / given).is_dir():
            yield (*path, "folder"), shown(given), f"there is no such folder in {str(folder)!r}"


def _named_folders(config: Config) -> Iterable[tuple[Path, str]]:
    watch = config.watch
    if watch.files is not None:
        yield ("watch", "files"), watch.files.folder
    if watch.tests is not None:
        yield ("watch", "tests"), watch.tests.folder
    for name, check in watch.commands.items():
        yield ("watch", "commands", name), check.folder
    for name, server in config.servers.items():
        yield ("servers", name), server.folder
