"""Out of one file and into another: nothing is lost, nothing is half imported."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.memory.opening import NOW, open_store
from tidings.memory.entry import KINDS, ROLES
from tidings.memory.failure import MemoryInputError
from tidings.memory.transfer import Imported, export_lines, import_lines, read_lines

NAMES = st.text("abcdeü -/", min_size=1, max_size=12).filter(str.strip)
MOMENTS = st.integers(0, NOW)
OPTIONS = st.fixed_dictionaries(
    {"text": st.text(min_size=1, max_size=80).filter(lambda text: text.strip())},
    optional={
        "kind": st.sampled_from(KINDS),
        "role": st.sampled_from(ROLES),
        "project": NAMES,
        "conversation": NAMES,
        "key": NAMES,
        "created": MOMENTS,
        "valid_from": MOMENTS,
        "valid_to": MOMENTS.map(lambda at: at + NOW + 1),
        "source": NAMES,
        "tags": st.lists(NAMES, max_size=3),
        "pinned": st.booleans(),
    },
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(made=st.lists(OPTIONS, max_size=6))
def test_an_export_imported_and_exported_is_the_same(tmp_path: Path, made: list[dict[str, object]]) -> None:
    for name in ("from.db", "into.db"):
        (tmp_path / name).unlink(missing_ok=True)
    with open_store(tmp_path / "from.db") as source, open_store(tmp_path / "into.db") as target:
        for options in made:
            source.remember(options)
        source.mark_surfaced(memory.id for memory in source.list(limit=2))
        lines = export_lines(source)
        assert import_lines(target, lines) == Imported(len(lines), 0)
        assert export_lines(target) == lines
        assert import_lines(target, lines) == Imported(0, len(lines))
        assert target.list(outdated=True) == source.list(outdated=True)
        assert target.list() == source.list()


def test_bad_lines_are_named_by_number_and_nothing_is_imported(tmp_path: Path) -> None:
    lines = [
        '{"text": "Fine."}',
        "",
        "{not json",
        '{"text": 7, "colour": "red"}',
        '["text"]',
        b'{"text": "\xff"}',
        '{"text": "One.", "id": "x"}',
        '{"text": "Two.", "id": "x"}',
    ]
    with open_store(tmp_path / "memory.db") as store:
        with pytest.raises(MemoryInputError) as refused:
            import_lines(store, lines)
        assert [problem.split(":")[0] for problem in refused.value.problems] == [
            "line 3",
            "line 4",
            "line 5",
            "line 6",
            "line 8",
        ]
        assert "`text` must be a non-blank string; got 7" in refused.value.problems[1]
        assert "unknown key `colour`" in refused.value.problems[1]
        assert store.count() == 0


def test_a_line_that_contradicts_a_memory_is_refused_and_nothing_is_imported(tmp_path: Path) -> None:
    with open_store(tmp_path / "memory.db") as store:
        kept = store.remember(text="The door is blue.").memory
        lines = ['{"text": "New."}', json.dumps({"id": kept.id, "text": "The door is red."})]
        with pytest.raises(MemoryInputError, match=r"line 2: id .* is another memory here"):
            import_lines(store, lines)
        assert [memory.text for memory in store.list()] == ["The door is blue."]


def test_many_bad_lines_are_counted() -> None:
    with pytest.raises(MemoryInputError) as refused:
        read_lines(["{"] * 50)
    assert len(refused.value.problems) == 21
    assert refused.value.problems[-1] == "and 30 more"


def test_a_line_without_end_is_refused() -> None:
    with pytest.raises(MemoryInputError, match="line 1: has more than 262,144 characters"):
        read_lines(["x" * 300_000])
