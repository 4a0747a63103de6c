"""Checks of the folder: its `tidings.toml`, its watchers at the hub, and the sessions that are reached."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePath

from tidings.cli.doctor.finding import Finding, Here, note, ok, problem
from tidings.cli.folder import FILE
from tidings.cli.hubbing import listed
from tidings.core.reminder import Payload
from tidings.hub.workspace.making import plans
from tidings.hub.workspace.problems import WorkspaceConfigError
from tidings.hub.workspace.reading import read_file


def config(here: Here) -> Iterator[Finding]:
    """Whether the folder's file can be used."""
    try:
        found = read_file(here.folder)
    except WorkspaceConfigError as error:
        for one in error.problems:
            yield problem(str(one), f"edit {here.folder / FILE}, then run `tidings up` there")
        return
    if found is None:
        yield note(f"{here.folder} has no {FILE}: nothing is watched here", "tidings init; tidings up")
        return
    names = ", ".join(plan.name for plan in plans(found.config)) or "nothing"
    yield ok(f"{here.folder / FILE}: {names}")


def watchers(here: Here) -> Iterator[Finding]:
    """Whether the folder is attached, and its watchers work."""
    if here.workspaces is None:
        return
    row = _attached(here.workspaces, here.folder)
    if row is None:
        found = problem if (here.folder / FILE).exists() else note
        yield found(f"{here.folder} is not attached to the hub", f"cd {here.folder}; tidings up")
        return
    told = row.get("problems")
    known = _problems(here.folder)
    for text in told if isinstance(told, list) else ():
        if text not in known:
            yield problem(f"{FILE} is not used: {text}", "mend it, then run `tidings up` there")
    for one in listed(row, "watchers"):
        yield _watcher(one)


def _problems(folder: Path) -> list[str]:
    """What is wrong with the folder's file as it is now, which the check of the file tells."""
    try:
        read_file(folder)
    except WorkspaceConfigError as error:
        return [str(one) for one in error.problems]
    return []


def _attached(answer: Payload, folder: PurePath) -> Payload | None:
    rows = listed(answer, "workspaces")
    return next((row for row in rows if row.get("path") == str(folder)), None)


def _watcher(one: Payload) -> Finding:
    said = f"{one.get('name')} is {one.get('state')}"
    words = f"{said}: {one['lastMessage']}" if one.get("lastMessage") else said
    if one.get("state") in ("waiting", "gave_up"):
        return problem(words, "mend what it says; it is tried again by itself, and at `tidings up`")
    return ok(words)


def sessions(here: Here) -> Iterator[Finding]:
    """Whether anybody hears what happens in this folder."""
    if here.sessions is None:
        return
    rows = [row for row in listed(here.sessions, "sessions") if _works_in(row, here.folder)]
    if rows:
        names = ", ".join(str(row.get("agent") or row.get("sessionId")) for row in rows)
        yield ok(f"{len(rows)} reached in {here.folder}: {names}")
    else:
        text = f"no session is reached in {here.folder}"
        yield note(text, "start an agent that is joined to the hub (docs/how-to/run-the-hub.md)")


def _works_in(row: Payload, folder: PurePath) -> bool:
    workspace = row.get("workspace")
    if not isinstance(workspace, str):
        return False
    there = PurePath(workspace)
    return there.is_relative_to(folder) or folder.is_relative_to(there)
