"""The generated parts of the docs are what the code says today."""

from __future__ import annotations

from docs import generate
from docs.parts import tables
from tidings.core import records, replay


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
