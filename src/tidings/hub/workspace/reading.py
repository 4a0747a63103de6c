"""From the text of a `tidings.toml` to a `Config`, or to every problem at once.

Each field is read by itself, so that one wrong value does not hide the next. Unknown keys are errors, with
the nearest known one. Secrets stand in the environment: a value that looks like one is refused and never
shown. A file that others may write is refused: it names commands.
"""

from __future__ import annotations

import os
import re
import tomllib
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from hashlib import sha256
from pathlib import Path as Folder
from typing import Annotated, Any, TypeAlias, TypeVar, Union, get_args, get_origin

import msgspec

from tidings.core.producers import shown
from tidings.core.redaction import looks_secret, redact
from tidings.hub.workspace.problems import Path, Places, Problem, WorkspaceConfigError
from tidings.hub.workspace.sense import sense
from tidings.hub.workspace.settings import FILE, Config

LARGEST = 1024 * 1024

T = TypeVar("T")
Read: TypeAlias = Callable[[object, Path], object]

_PLACE = re.compile(r"\(at (?:line (?P<line>\d+), column \d+|end of document)\)")
_AT = re.compile(r" - at `\$(?:\[(?P<index>\d+)\])?")
_VARIABLE = re.compile(r"\$\{\w+(?::-[^}]*)?\}")
_HIDDEN = ("env", "headers", "url")


class File(msgspec.Struct, frozen=True):
    """A `tidings.toml` that was read, and the digest of its bytes."""

    config: Config
    digest: str


def read_file(folder: Folder) -> File | None:
    """The file of a folder; None when it has none.

    Raises:
        WorkspaceConfigError: with every problem.
    """
    path = folder / FILE
    try:
        with open(path, "rb") as file:
            found = os.fstat(file.fileno())
            data = file.read(LARGEST + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unreadable(path, f"it cannot be read ({error.strerror}); make it a file of yours") from error
    if found.st_uid not in (os.getuid(), 0) or found.st_mode & 0o002:
        raise _unreadable(path, "others may write it, and it names commands; run `chown` or `chmod o-w`")
    if len(data) > LARGEST:
        raise _unreadable(path, f"it has more than {LARGEST} bytes; keep it short")
    try:
        return File(read_text(data.decode(), folder), sha256(data).hexdigest())
    except UnicodeDecodeError as error:
        raise _unreadable(path, f"byte {error.start} is not UTF-8; save it as UTF-8") from error


def read_text(text: str, folder: Folder) -> Config:
    """The config that `text` is, for a folder.

    Raises:
        WorkspaceConfigError: with every problem.
    """
    file = str(folder / FILE)
    try:
        decoded = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise WorkspaceConfigError(file, [_not_toml(str(error), text)]) from error
    reader = _Reader(Places(text))
    config = reader.table(Config, decoded, ())
    problems = [*reader.problems, *_besides(sense(config, folder, reader.places), reader.problems)]
    if problems:
        raise WorkspaceConfigError(file, sorted(problems, key=lambda one: one.line or 0))
    return config


def _besides(later: Iterable[Problem], first: Sequence[Problem]) -> Iterator[Problem]:
    """Problems of the whole that do not only follow from a field that could not be read."""
    for one in later:
        if not any(f"{other.field}.".startswith(f"{one.field}.") for other in first):
            yield one


def _unreadable(path: Folder, fix: str) -> WorkspaceConfigError:
    return WorkspaceConfigError(str(path), [Problem(field="", line=None, value="", fix=fix)])


def _not_toml(message: str, text: str) -> Problem:
    place = _PLACE.search(message)
    last = len(text.splitlines())
    line = int(place["line"] or last) if place else None
    said = _PLACE.sub("", message).strip() or "it is nested too deeply"
    return Problem(field="", line=line, value="", fix=f"this is not TOML: {said}")


class _Reader:
    """Collects problems while it reads."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self.problems: list[Problem] = []

    def table(self, shape: type[T], value: object, path: Path) -> T:
        """The struct that a table is; what cannot be read is left at its default, None without one."""
        if not isinstance(value, Mapping):
            self._wrong(path, value, f"write a table: [{'.'.join(path)}]")
            value = {}
        known = {field.encode_name: field for field in msgspec.structs.fields(shape)}  # type: ignore[arg-type]
        self._unknown(value, known, path)
        given: dict[str, object] = {}
        for name, field in known.items():
            if name in value:
                read = self._value(field.type, value[name], (*path, name))
                given |= {field.name: read} if read is not None or field.required else {}
            elif field.required:
                self._wrong((*path, name), None, f"it is missing; give {wanted(field.type)}")
                given[field.name] = None
        return shape(**given)

    def _value(self, kind: Any, value: object, path: Path) -> object:
        struct, is_named = _inside(kind)
        if struct is None:
            return self._leaf(kind, value, path)
        if not is_named:
            return self.table(struct, value, path)
        return self._named(lambda one, place: self.table(struct, one, place), value, path)

    def _leaf(self, kind: Any, value: object, path: Path) -> object:
        if path == ("grants",):
            powers = get_args(kind)[1]
            return self._named(lambda one, place: self._leaf(powers, one, place), value, path)
        self._secrets(value, path)
        try:
            return msgspec.convert(value, kind)
        except msgspec.ValidationError as error:
            self._wrong(path, value, _fix(kind, str(error)))
            return None

    def _named(
        self, read: Callable[[object, Path], object], value: object, path: Path
    ) -> dict[str, object]:
        if not isinstance(value, Mapping):
            self._wrong(path, value, f"write a table with a name: [{'.'.join(path)}.NAME]")
            return {}
        return {str(name): read(one, (*path, str(name))) for name, one in value.items()}

    def _unknown(self, value: Mapping[str, object], known: Iterable[str], path: Path) -> None:
        names = list(known)
        for name in value:
            if name not in names:
                near = get_close_matches(name, names, 1)
                hint = f"did you mean `{near[0]}`? " if near else ""
                fix = f"this key is not known; {hint}known are {', '.join(sorted(names))}"
                self._wrong((*path, name), None, fix)

    def _secrets(self, value: object, path: Path) -> None:
        """Refuse what looks like a secret, in whatever field it stands."""
        for name, text in _texts(value, path):
            bare = _VARIABLE.sub("", text)
            label = name[-1]
            is_telling = len(name) > 1 and name[-2] in ("env", "headers") and looks_secret(label, "")
            if (is_telling and bare.strip(" ") not in ("", "Bearer")) or redact(bare) != bare:
                fix = f'it holds a secret; write "${{{_variable(label)}}}" and set that variable'
                self._wrong(name, None, fix)

    def _wrong(self, path: Path, value: object, fix: str) -> None:
        hidden = value is None or any(part in _HIDDEN for part in path)
        self.problems.append(
            Problem(
                field=".".join(path),
                line=self.places.line(path),
                value="" if hidden else redact(shown(value)),
                fix=fix,
            )
        )


def _texts(value: object, path: Path) -> Iterable[tuple[Path, str]]:
    """Every text in a value, with its place."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for name, one in value.items():
            yield from _texts(one, (*path, str(name)))
    elif isinstance(value, list):
        yield from _texts(" ".join(one for one in value if isinstance(one, str)), path)


def _variable(label: str) -> str:
    return re.sub(r"\W+", "_", label).upper()


def _inside(kind: Any) -> tuple[type | None, bool]:
    """The struct that a field holds, if it does, and whether it holds many by name."""
    if get_origin(kind) is Annotated:
        return _inside(get_args(kind)[0])
    if get_origin(kind) in (Union, types.UnionType):
        found = [_inside(one) for one in get_args(kind)]
        return next((one for one in found if one[0] is not None), (None, False))
    if get_origin(kind) is dict:
        return _inside(get_args(kind)[1])[0], True
    is_struct = isinstance(kind, type) and issubclass(kind, msgspec.Struct)
    return (kind if is_struct else None), False


def wanted(kind: Any) -> str:
    """What a field wants, in words."""
    for meta in getattr(kind, "__metadata__", ()):
        if isinstance(meta, msgspec.Meta) and meta.description:
            return meta.description
    found = [wanted(one) for one in get_args(kind)]
    return next((words for words in found if words), "")


def _fix(kind: Any, error: str) -> str:
    """What to write instead, and what in a list was wrong."""
    fix = f"give {wanted(kind)}"
    return f"{fix} ({_AT.split(error)[0]})" if "Rule" in str(kind) else fix
