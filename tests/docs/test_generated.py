"""The generated parts of the docs are what the code says today."""

from __future__ import annotations

from inspect import signature
from pathlib import Path
from typing import get_args

from docs import generate
from docs.parts import happenings, loop, tables
from tidings.agent import run, store
from tidings.agent.emitted import Emitted
from tidings.agent.events import EVENTS
from tidings.agent.loop import agent_loop
from tidings.agent.providers.table import TABLE
from tidings.agent.result import LoopResult, Status
from tidings.agent.session import Session
from tidings.core import records, replay
from tidings.core.seams import DRAINS
from tidings.core.transcript import Transcript


def test_every_generated_part_is_current() -> None:
    assert [path.name for path in generate.stale()] == []


def test_every_part_stands_on_exactly_one_page() -> None:
    pages = [path.read_text() for path in generate.DOCS.rglob("*.md")]
    named = [found["name"] for page in pages for found in generate.MARK.finditer(page)]
    assert sorted(named) == sorted(generate.PARTS)


def test_every_marker_is_closed() -> None:
    for path in generate.DOCS.rglob("*.md"):
        text = path.read_text()
        assert text.count("<!-- generated: ") == len(generate.MARK.findall(text)), path.name


def test_a_page_without_markers_is_left_as_it_is() -> None:
    assert generate.refreshed("# Title\n\nText.\n") == "# Title\n\nText.\n"


def test_what_stands_between_the_markers_is_replaced() -> None:
    page = "a\n<!-- generated: trust-powers -->\nold\n<!-- /generated -->\nb\n"
    expected = f"a\n<!-- generated: trust-powers -->\n{tables.trust_powers()}\n<!-- /generated -->\nb\n"
    assert generate.refreshed(page) == expected


def test_every_record_kind_has_its_words() -> None:
    assert tables.WHEN.keys() == records.KINDS.keys()
    assert tables.CHANGES.keys() == replay._STEPS.keys()


def test_every_event_that_the_loop_raises_is_said_to_be_raised_and_no_other() -> None:
    folder = Path(run.__file__).parent
    files = [path for path in folder.glob("*.py") if path.name not in ("events.py", "registration.py")]
    source = "".join(path.read_text() for path in (*files, *folder.glob("tools/*.py")))
    assert {name for name in EVENTS if f'"{name}"' in source} == happenings.RAISED.keys()
    assert happenings.RAISED.keys() == EVENTS.keys()


def test_every_field_of_a_payload_has_its_words() -> None:
    worded = {name for names in happenings.FIELDS for name in names.split(", ")}
    assert worded == {name for event in EVENTS.values() for name in event.payload}


def test_the_words_of_the_loop_tables_are_complete() -> None:
    keys = {f"{row.id}.{key.name}" for row in TABLE.values() for key in row.keys}
    assert happenings.RULES.keys() == TABLE.keys()
    assert happenings.KEYS.keys() == keys
    assert loop.SEAM_WHEN.keys() == DRAINS.keys()
    assert loop.OPTIONS.keys() == signature(agent_loop).parameters.keys()
    assert loop.STATUSES.keys() == set(get_args(Status))
    assert loop.RESULT.keys() == set(LoopResult.__struct_fields__)


def test_the_words_of_the_session_state_name_every_field_of_its_record() -> None:
    change = store.changed(store.Stored(Transcript(session_id="s1")))
    assert loop.SESSION_CHANGES[change.kind][0] == tuple(change.payload)
    emitted = store.emitted(Emitted("id", "file_edited", {}))
    assert loop.SESSION_CHANGES[emitted.kind][0] == tuple(emitted.payload)


def test_the_session_page_names_every_public_method() -> None:
    page = (generate.DOCS / "reference" / "session.md").read_text()
    names = [name for name in vars(Session) if not name.startswith("_")]
    assert [name for name in names if name not in page] == []
