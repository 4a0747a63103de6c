"""Reading and writing the files of a plan: through links, all at once, with the mode they had."""

from __future__ import annotations

import os
import shlex
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from tidings.errors import CallerError

LONGEST = 4 * 1024 * 1024


def read(path: Path) -> bytes | None:
    """The file's bytes; None when it is not there.

    Raises:
        CallerError: it cannot be read, is no file, or is far too long.
    """
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode) or found.st_size > LONGEST:
            raise CallerError(f"{str(path)!r} is no file of settings that can be changed")
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise CallerError(f"{str(path)!r} cannot be read: {error.strerror}") from error


def write(path: Path, data: bytes) -> tuple[str, ...]:
    """Write a file all at once; gives the folders that had to be made, the innermost first.

    Raises:
        CallerError: it cannot be written.
    """
    real = Path(os.path.realpath(path))
    try:
        made = _make(real.parent)
        mode = stat.S_IMODE(real.stat().st_mode) if real.exists() else 0o644
        if not mode & stat.S_IWUSR:
            allow = f"chmod u+w {shlex.quote(str(path))}"
            raise CallerError(f"{str(path)!r} is read-only; allow writing first: {allow}")
        handle, draft = tempfile.mkstemp(dir=real.parent, prefix=f".{real.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                os.fchmod(file.fileno(), mode)
            os.replace(draft, real)
        except OSError:
            with suppress(FileNotFoundError):
                os.unlink(draft)
            raise
    except OSError as error:
        raise CallerError(f"{str(path)!r} cannot be written: {error.strerror}") from error
    return made


def remove(path: Path, folders: tuple[str, ...]) -> None:
    """Remove a file, not the link to it, and the folders that were made for it as far as they are empty.

    Raises:
        CallerError: it cannot be removed.
    """
    try:
        Path(os.path.realpath(path)).unlink(missing_ok=True)
    except OSError as error:
        raise CallerError(f"{str(path)!r} cannot be removed: {error.strerror}") from error
    for folder in folders:
        with suppress(OSError):  # somebody else put something there: it stays
            os.rmdir(folder)


def _make(folder: Path) -> tuple[str, ...]:
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    return tuple(map(str, missing))
