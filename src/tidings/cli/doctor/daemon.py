"""Checks of the hub: whether it runs, answers on both ways, is of this version, and its log is intact."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPException

from tidings.cli.doctor.finding import SECONDS, Finding, Here, note, ok, problem
from tidings.cli.up import DEFAULT_PORT
from tidings.errors import LogCorruptError, LogError
from tidings.hub.failure import HubError
from tidings.hub.place import token_of
from tidings.log import open_log
from tidings.version import __version__

VERIFIED_MOST = 200_000
"""How many records are checked here; more take too long, and have a command of their own."""


def hub(here: Here) -> Iterator[Finding]:
    """Whether a hub runs and answers at its socket; else whether its port is free."""
    if here.status is not None:
        yield ok(f"runs as process {here.status.get('pid')}, socket {here.place.socket}")
    elif here.running:
        text = f"a process holds {here.place.lock_file} and does not answer at {here.place.socket}"
        yield problem(text, "end it (`fuser` names it), then run `tidings up`")
    else:
        yield problem("no hub runs", "tidings up")
        yield from _port()


def _port() -> Iterator[Finding]:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", DEFAULT_PORT))
        except OSError as error:
            text = f"port {DEFAULT_PORT} cannot be used: {error.strerror}"
            yield problem(text, "tidings up --port 0")
        else:
            yield ok(f"port {DEFAULT_PORT} is free")


def http(here: Here) -> Iterator[Finding]:
    """Whether the hub answers over HTTP, and takes the token of the file."""
    if here.status is None or here.state is None:
        return
    host = here.state.url.removeprefix("http://")
    try:
        status, body = _get(host, "/v1/health", {})
        if status != 200 or body.get("status") != "ok":
            yield problem(f"{here.state.url} answers, but it is no hub", "tidings down; tidings up")
            return
        given = {"Authorization": f"Bearer {token_of(here.place)}"}
        status, _ = _get(host, "/v1/status", given)
    except (OSError, ValueError, HubError) as error:
        fix = "a proxy or firewall may stand before loopback; else: tidings down; tidings up"
        yield problem(f"{here.state.url} does not answer: {error}", fix)
        return
    if status == 401:
        text = f"the hub does not know the token in {here.place.token_file}"
        yield problem(text, "the file was changed while the hub ran: tidings down; tidings up")
    else:
        yield ok(here.state.url)


def _get(host: str, path: str, headers: dict[str, str]) -> tuple[int, dict[str, object]]:
    connection = HTTPConnection(host, timeout=SECONDS)
    try:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        body = json.loads(answer.read())
        return answer.status, body if isinstance(body, dict) else {}
    except HTTPException as error:
        raise ValueError(f"{type(error).__name__}: {error}") from error
    finally:
        connection.close()


def version(here: Here) -> Iterator[Finding]:
    """Whether the hub is of the version of this command."""
    if here.status is None:
        return
    found = str(here.status.get("version"))
    if found == __version__:
        yield ok(f"hub and command are {found}")
    else:
        text = f"the hub is {found}, this command is {__version__}"
        yield problem(text, "start the hub anew: tidings down; tidings up")


def log(here: Here) -> Iterator[Finding]:
    """Whether the hub's log is intact, if it is short enough to look."""
    path = here.place.database
    if not path.exists():
        return
    try:
        with open_log(path) as found:
            count = sum(found.latest(name) - found.purged_through(name) for name in found.topics())
            if count > VERIFIED_MOST:
                yield note(f"{count} records are too many to check here", f"tidings log verify {path}")
                return
            found.verify()
    except LogCorruptError as error:
        yield problem(str(error), f"keep a copy of {path}, move it away, and start the hub anew")
    except LogError as error:
        yield problem(str(error), f"see who else uses {path}, and whether the disk is full")
    else:
        yield ok(f"{count} records verify ({path})")
