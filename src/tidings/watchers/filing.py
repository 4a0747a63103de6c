"""A batch of file changes becomes what the agent is told. Pure.

A few files get a reminder each, with a key of their own, so that the next change of a file replaces the
last; several are listed in one; very many become counts per folder. File names are foreign text: they are
made harmless before they stand in a body. Called by `files.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote

from tidings.agent.providers.quoting import one_line
from tidings.watchers.changes import KINDS, Batch, FileChange
from tidings.watchers.told import MOST_URIS, News, Noticed, Told

FEW = 5
"""Up to here every file gets its own reminder."""
SEVERAL = 20
"""Up to here the files are listed."""
FOLDERS = 8
"""How many folders a summary names."""
TTL = 2
TAGS = ("workspace", "file_changed")
_NAME = 300


def tell(batch: Batch, root: Path, *, knows_own: bool) -> list[News]:
    """What to say of `batch`; the agent's own writes are left out.

    `knows_own`: whether own writes would have been recognised, so that the rest is surely external.
    """
    changes = [change for change in batch.changes if not change.own]
    how = "externally" if knows_own else "on disk"
    if len(changes) <= FEW:
        return [_single(change, root, how) for change in changes]
    news: list[News] = []
    if len(changes) <= SEVERAL:
        news.append(_list(changes, root, how))
    else:
        news.append(_summary(changes, batch, root, how))
    if len(changes) > MOST_URIS:
        message = f"{len(changes)} files changed; {MOST_URIS} are announced as updated resources"
        news.append(Noticed("resources_left_out", message, {"left_out": len(changes) - MOST_URIS}))
    return news


def _single(change: FileChange, root: Path, how: str) -> Told:
    path = one_line(change.path, _NAME)
    match change.kind:
        case "edited":
            body = f"{path} changed {how}; re-read it before editing."
        case "created":
            body = f"{path} was created {how}."
        case "deleted":
            body = f"{path} was deleted {how}; do not rely on it."
        case "renamed":
            body = f"{one_line(change.was, _NAME)} was renamed {how}: it is now {path}. Use the new path."
    return Told(body, f"file_changed:{_key(change)}", TAGS, TTL, uris=_uris((change,), root))


def _key(change: FileChange) -> str:
    """The path that older news spoke of: a renamed file's former one."""
    path = change.was or change.path
    return path if len(path) <= _NAME and path.isprintable() else _digest([path])


def _list(changes: Sequence[FileChange], root: Path, how: str) -> Told:
    lines = [f"{len(changes)} files changed {how}; re-read them before editing:"]
    for kind in KINDS:
        lines += [f"- {kind} {_named(change)}" for change in changes if change.kind == kind]
    key = f"file_changed:{len(changes)}:{_digest([change.path for change in changes])}"
    return Told("\n".join(lines), key, TAGS, TTL, uris=_uris(changes, root))


def _named(change: FileChange) -> str:
    path = one_line(change.path, _NAME)
    return f"{one_line(change.was, _NAME)} to {path}" if change.was else path


def _summary(changes: Sequence[FileChange], batch: Batch, root: Path, how: str) -> Told:
    kinds = Counter(change.kind for change in changes)
    counts = ", ".join(f"{kinds[kind]:,} {kind}" for kind in KINDS if kinds[kind])
    least = "At least " if batch.uncertain else ""
    why = " The VCS moved to another commit." if batch.head_moved else ""
    lines = [f"{least}{len(changes):,} files changed {how} at once ({counts}).{why}", *_folders(changes)]
    lines.append("What you read before may be out of date: re-read a file before editing it.")
    return Told("\n".join(lines), "file_changed:many", TAGS, TTL, uris=_uris(changes, root))


def _folders(changes: Sequence[FileChange]) -> list[str]:
    """The folders with the most changes, and how many are elsewhere."""
    found = Counter(_folder(change.path) for change in changes)
    most = found.most_common(FOLDERS)
    lines = [f"- {one_line(folder, _NAME)}: {count:,}" for folder, count in most]
    rest = len(changes) - sum(count for _, count in most)
    others = len(found) - len(most)
    return [*lines, f"- {others:,} other folder{'s' if others > 1 else ''}: {rest:,}"] if rest else lines


def _folder(path: str) -> str:
    """The outermost two folders of a path."""
    folders = path.split("/")[:-1][:2]
    return "/".join(folders) + "/" if folders else "./"


def _uris(changes: Sequence[FileChange], root: Path) -> tuple[str, ...]:
    paths = [
        path for change in changes[:MOST_URIS] for path in (change.was, change.path) if path is not None
    ]
    base = root.as_uri().rstrip("/")
    return tuple(f"{base}/{quote(path, errors='surrogateescape')}" for path in paths[:MOST_URIS])


def _digest(paths: Sequence[str]) -> str:
    return sha256("\0".join(paths).encode(errors="surrogatepass")).hexdigest()[:12]
