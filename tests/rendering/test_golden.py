"""Every route in every case sends what its golden file says, and what the vendor takes."""

from __future__ import annotations

import difflib
from itertools import pairwise

import pytest

import tidings as td
from tests.rendering import golden, legal, vendor

PLAYED = [
    pytest.param(name, route, case, id=name.removesuffix(".json")) for name, route, case in golden.played()
]


@pytest.mark.parametrize(("name", "route", "case"), PLAYED)
def test_a_request_is_what_its_golden_file_says(name: str, route: td.Route, case: golden.Case) -> None:
    path = golden.FOLDER / name
    stored = path.read_text() if path.exists() else ""
    made = golden.text(golden.as_json(route, case))
    if made != stored:
        lines = difflib.unified_diff(
            stored.splitlines(), made.splitlines(), str(path), "rendered", lineterm=""
        )
        pytest.fail(
            "\n".join(lines) + "\nIf this is meant: python -m tests.rendering.golden --write", pytrace=False
        )


@pytest.mark.parametrize(("name", "route", "case"), PLAYED)
def test_a_golden_body_is_taken_by_the_vendors_types_and_rules(
    name: str, route: td.Route, case: golden.Case
) -> None:
    for request in case.play(route):
        vendor.check(route.wire, request.body)
        legal.check(route.wire, request.body)


def test_every_golden_file_has_a_case() -> None:
    stored = {path.name for path in golden.FOLDER.iterdir()}
    assert stored == {name for name, _, _ in golden.played()}


def test_the_golden_cases_have_names_of_their_own() -> None:
    names = [name for name, _, _ in golden.played()]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("route", golden.APPEND_ROUTES, ids=lambda route: route.name)
@pytest.mark.parametrize("case", golden.APPEND_CASES, ids=lambda case: case.name)
def test_each_golden_append_only_request_begins_with_the_one_before(
    route: td.Route, case: golden.Case
) -> None:
    sent = [legal.stream(request.body) for request in case.play(route)]
    kept = [later.startswith(earlier) for earlier, later in pairwise(sent)]
    assert kept == [True] * (len(sent) - 1)
