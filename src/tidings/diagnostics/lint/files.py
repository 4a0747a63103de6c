"""The files to lint: paths become Python files, and files become text.

Directories are walked without hidden ones, caches, virtual environments and `node_modules`; a path
that is given by name is always read. Errors name the path and the fix.
"""

from __future__ import annotations

import os
import tokenize
from collections.abc import Iterable, Iterator
from io import BytesIO
from os import PathLike
from pathlib import Path

from tidings.errors import CallerError

SKIPPED = frozenset(("__pycache__", "node_modules", "site-packages"))


class LintPathError(CallerError):
    """A path that does not exist, or a file that cannot be read as Python source."""


def files_under(paths: Iterable[str | PathLike[str]]) -> tuple[Path, ...]:
    """The files that `paths` mean, each once, in a stable order.

    Raises:
        LintPathError: a path does not exist.
    """
    found: dict[Path, Path] = {}
    for path in map(Path, paths):
        for file in _files(path):
            found.setdefault(file.resolve(), file)
    return tuple(sorted(found.values()))


def read_source(path: Path) -> str:
    """The text of a source file: UTF-8, or what its coding line says (PEP 263).

    Raises:
        LintPathError: it cannot be read.
    """
    try:
        data = path.read_bytes()
        encoding, _ = tokenize.detect_encoding(BytesIO(data).readline)
        return data.decode(encoding)
    except OSError as error:
        raise LintPathError(f"{path} cannot be read: {error.strerror or error}") from error
    except (UnicodeDecodeError, SyntaxError) as error:
        raise LintPathError(
            f"{path} is not UTF-8 text; save it as UTF-8, name its encoding in a coding comment, "
            "or leave it out"
        ) from error


def _files(path: Path) -> Iterator[Path]:
    if path.is_dir():
        yield from _walk(path)
    elif path.exists():
        yield path
    else:
        raise LintPathError(f"there is no {str(path)!r}; give Python files or directories")


def _walk(top: Path) -> Iterator[Path]:
    for folder, subfolders, names in os.walk(top, onerror=_unreadable):
        here = Path(folder)
        subfolders[:] = sorted(name for name in subfolders if not _is_skipped(here / name))
        files = (here / name for name in names if name.endswith(".py") and name[0] != ".")
        yield from (file for file in files if file.is_file())


def _is_skipped(folder: Path) -> bool:
    name = folder.name
    return name.startswith(".") or name in SKIPPED or (folder / "pyvenv.cfg").exists()


def _unreadable(error: OSError) -> None:
    raise LintPathError(f"{error.filename} cannot be read: {error.strerror}") from error
