"""Which paths of a tree nobody wants to hear about: VCS folders, tool caches, and what .gitignore names.

Reads ignore files in the manner of git: nested files, those above the root up to the repository's own
folder, negation, the last match decides, and nothing below an ignored folder comes back. Answers are kept
per folder until an ignore file changes. The patterns themselves are those of the search tools
(`agent.tools.glob`).
"""

from __future__ import annotations

from pathlib import Path

from tidings.agent.tools.glob import IgnoreRule, is_ignored, read_rules

VCS = frozenset((".git", ".hg", ".svn", ".jj", ".bzr"))
CACHES = frozenset(
    (
        "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".tox", ".nox",
        ".venv", "node_modules", ".gradle", ".idea", ".vs", ".DS_Store",
    )
)  # fmt: skip
"""Names that tools make for themselves: ignored also where no file says so."""
AGENTS = frozenset((".claude", ".codex", ".gemini", ".opencode"))
"""Where coding agents keep settings and sessions of their own: it would be news of themselves."""
SCRATCH = (".swp", ".swx", "~", ".tmp", ".part", ".crdownload")
"""Endings of the files that editors and downloads make for a moment."""

_NEVER = VCS | CACHES | AGENTS
RULE_FILES = (".gitignore", ".ignore")
_MOST_FOLDERS = 50_000
_LARGEST = 1_000_000


class Ignores:
    """The ignore rules below `root`. Paths are relative to it, with `/`. For one thread at a time."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._top = next((folder for folder in (root, *root.parents) if (folder / ".git").exists()), root)
        inside = root.relative_to(self._top).as_posix()
        self._inside = "" if inside == "." else f"{inside}/"
        self._rules: dict[str, tuple[IgnoreRule, ...]] = {}
        self._folders: dict[str, bool] = {}

    def forget(self) -> None:
        """Read the ignore files anew: one of them changed."""
        self._rules.clear()
        self._folders.clear()

    def folder(self, path: str) -> bool:
        """Whether nothing in this folder counts."""
        if not path:
            return False
        known = self._folders.get(path)
        if known is None:
            if len(self._folders) >= _MOST_FOLDERS:
                self._folders.clear()
            above, _, name = path.rpartition("/")
            known = self.folder(above) or name in _NEVER or self._says(path, above, True)
            self._folders[path] = known
        return known

    def file(self, path: str) -> bool:
        """Whether this file does not count."""
        above, _, name = path.rpartition("/")
        if name in _NEVER or name.endswith(SCRATCH):
            return True
        return self.folder(above) or self._says(path, above, False)

    def _says(self, path: str, above: str, is_folder: bool) -> bool:
        rules = self._above(f"{self._inside}{above}".rstrip("/"))
        return is_ignored(rules, f"{self._inside}{path}", is_folder)

    def _above(self, folder: str) -> tuple[IgnoreRule, ...]:
        """The rules that hold in `folder`, which is relative to the repository's, outermost first."""
        rules = self._rules.get(folder)
        if rules is None:
            if len(self._rules) >= _MOST_FOLDERS:
                self._rules.clear()
            outer = self._above(folder.rpartition("/")[0]) if folder else self._excluded()
            rules = (*outer, *(rule for name in RULE_FILES for rule in self._read(folder, name)))
            self._rules[folder] = rules
        return rules

    def _excluded(self) -> tuple[IgnoreRule, ...]:
        return tuple(self._read_file(self._top / ".git" / "info" / "exclude", ""))

    def _read(self, folder: str, name: str) -> list[IgnoreRule]:
        return self._read_file(self._top / folder / name, folder)

    def _read_file(self, path: Path, folder: str) -> list[IgnoreRule]:
        try:
            with open(path, encoding="utf-8", errors="replace", newline="\n") as file:
                return list(read_rules(file.read(_LARGEST), folder))
        except OSError:
            return []
