"""What `connect` did, so that `disconnect` can undo it: one entry for each file that was changed.

It holds no content of the files, only what we put in and where, and digests to tell whether a file was
changed since. Kept in the hub's data folder, for its owner only.
"""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path

import msgspec

from tidings.errors import CallerError
from tidings.hosts.happening import Host
from tidings.hosts.settings.edit import Insertion
from tidings.hub.place import Place, prepare

VERSION = 1
_NAME = "connections.json"


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A file that we changed or made: digests of what it was and what it became, and what was put in."""

    host: Host
    path: str
    existed: bool
    original: str
    written: str
    inserted: tuple[Insertion, ...] = ()
    events: frozenset[str] = frozenset()
    folders: tuple[str, ...] = ()
    wake: bool = False


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """All entries."""

    version: int = VERSION
    entries: tuple[Entry, ...] = ()

    def find(self, path: Path) -> Entry | None:
        """The entry of a file."""
        return next((one for one in self.entries if one.path == str(path)), None)

    def with_entry(self, entry: Entry) -> Manifest:
        """With this entry in the place of the former one of its file."""
        return Manifest(entries=(*self.without(Path(entry.path)).entries, entry))

    def without(self, path: Path) -> Manifest:
        """Without the entry of a file."""
        return Manifest(entries=tuple(one for one in self.entries if one.path != str(path)))


def digest(data: bytes) -> str:
    """What tells whether a file is still as it was."""
    return sha256(data).hexdigest()


def load(place: Place) -> Manifest:
    """What was connected so far.

    Raises:
        CallerError: the manifest cannot be read, or a newer version wrote it.
    """
    path = place.home / _NAME
    try:
        found = msgspec.json.decode(path.read_bytes(), type=Manifest)
    except FileNotFoundError:
        return Manifest()
    except (OSError, msgspec.DecodeError) as error:
        raise CallerError(f"{str(path)!r} cannot be read: {error}; remove it to start anew") from error
    if found.version != VERSION:
        text = f"{str(path)!r} has version {found.version}; this Tidings knows {VERSION}: upgrade it"
        raise CallerError(text)
    return found


def save(place: Place, manifest: Manifest) -> None:
    """Keep it, all at once.

    Raises:
        HubError: the data folder cannot be used.
    """
    prepare(place)
    draft = place.home / f"{_NAME}.new"
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(msgspec.json.format(msgspec.json.encode(manifest)))
    draft.replace(place.home / _NAME)
