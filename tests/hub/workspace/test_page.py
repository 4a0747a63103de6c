"""The pages about workspaces say what there is, and their examples are files that the reader takes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from docs.parts import config
from tidings.core.trust import POWERS
from tidings.hub.workspace import attaching, courier, keeping, settings, workspace
from tidings.hub.workspace.reading import read_text

DOCS = Path(__file__).parents[3] / "docs"
CONFIG = (DOCS / "reference" / "config.md").read_text()
HUB = (DOCS / "reference" / "hub.md").read_text()
KINDS = (attaching.ATTACHED, attaching.DETACHED, attaching.CONFIG, workspace.WATCHER, courier.NOTICED)
BLOCKS = [
    block
    for page in (CONFIG, (DOCS / "how-to" / "configure-a-workspace.md").read_text())
    for block in re.findall(r"^```toml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
]


@pytest.mark.parametrize("text", BLOCKS)
def test_every_example_is_taken_by_the_reader(tmp_path: Path, text: str) -> None:
    assert read_text(text, tmp_path) != settings.Config()


def test_every_key_has_its_words_and_no_words_are_left_over() -> None:
    fields = {
        (name, field.name)
        for name, shape in config.SECTIONS.items()
        for field in msgspec.structs.fields(shape)
    }
    assert [one for one in fields if not config.meaning(*one)] == []
    assert set(config.OWN) <= fields


@pytest.mark.parametrize("name", [*get_args(keeping.State), *POWERS])
def test_every_state_and_power_stands_on_the_page(name: str) -> None:
    assert f"| `{name}` |" in CONFIG


@pytest.mark.parametrize("kind", KINDS)
def test_every_record_stands_on_the_page_of_the_hub(kind: str) -> None:
    assert f"| `{kind}` |" in HUB
