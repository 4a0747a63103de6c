"""The options that the memory commands share: which file, which project; and how a memory is printed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from tidings.bridge.served.settings import data_folder
from tidings.diagnostics.visible import visible
from tidings.errors import CallerError
from tidings.memory.answer import Item
from tidings.memory.entry import EVERYWHERE, Memory, iso

VARIABLE = "TIDINGS_MEMORY"
DATE = 10

File: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--file",
        metavar="PATH",
        help=f"The memory's file. Default: ${VARIABLE}, else memory.db in the user's data folder "
        "($XDG_DATA_HOME/tidings, ~/.local/share/tidings).",
        show_default=False,
    ),
]
Project: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--project",
        metavar="NAME",
        help="The project. Default: the name of the folder above that holds .git, else everywhere.",
        show_default=False,
    ),
]
Everywhere: TypeAlias = Annotated[
    bool, typer.Option("--everywhere", help="No project: what holds in all of them.")
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON, one object per line.")]


def place(file: Path | None, *, must_exist: bool = True) -> Path:
    """The memory's file.

    Raises:
        CallerError: it does not exist, and should.
    """
    named = os.environ.get(VARIABLE, "").strip()
    path = file or (Path(named) if named else data_folder(os.environ) / "memory.db")
    if must_exist and not path.exists():
        raise CallerError(
            f"there is no memory at {path}; tidings memory remember makes one, --file names another"
        )
    return path


def project_name(project: str | None, everywhere: bool = False) -> str:
    """The project that is meant.

    Raises:
        CallerError: both a project and everywhere are given.
    """
    if everywhere and project:
        raise CallerError("give --project or --everywhere, not both")
    if everywhere or project is not None:
        return project or EVERYWHERE
    here = Path.cwd()
    return next((folder.name for folder in (here, *here.parents) if (folder / ".git").exists()), EVERYWHERE)


def item_line(item: Item) -> str:
    """A memory that fits, on one line."""
    return f"{item.relevance:.2f}  {item.date[:DATE]}  {item.id}  {visible(item.content)}"


def memory_line(memory: Memory) -> str:
    """A memory on one line."""
    marks = [f"[{memory.project}]"] if memory.project else []
    marks += [f"({memory.key})"] if memory.key else []
    marks += ["pinned"] if memory.pinned else []
    head = " ".join([iso(memory.created)[:DATE], memory.id, *map(visible, marks)])
    return f"{head}  {visible(memory.text)}"
