"""Both spellings in, camelCase out (decision 11)."""

from __future__ import annotations

import pytest

from tests.core.build import reminder
from tidings.core.producers import build
from tidings.core.wire import from_wire, to_wire
from tidings.errors import DiagnosticError

MCP_EXAMPLE = {
    "id": "0190abcd-2024-7c1d-bb02-3a0e8a44d7f0",
    "body": "src/lib.rs changed externally; re-read it before editing.",
    "tags": ["workspace", "file_changed"],
    "dedupeKey": "file_changed:src/lib.rs",
    "ttlTurns": 2,
    "preserveOnCompact": False,
    "propagate": "session",
    "roleHint": "system",
    "firedAtTurn": None,
}


def test_the_mcp_example_of_the_specification_becomes_a_reminder() -> None:
    made = build("mcp", from_wire(MCP_EXAMPLE, "mcp"), id="x", origin="files")
    assert (made.id, made.dedupe_key, made.ttl_turns) == (
        MCP_EXAMPLE["id"],
        "file_changed:src/lib.rs",
        2,
    )
    assert made.trust == "external"


def test_camel_and_snake_are_the_same_field() -> None:
    assert from_wire({"ttlTurns": 2, "dedupe_key": "k"}, "c") == {"ttl_turns": 2, "dedupe_key": "k"}
    assert from_wire({"ttlTurns": 2, "ttl_turns": 2}, "c") == {"ttl_turns": 2}


def test_one_field_given_twice_with_different_values_is_an_error() -> None:
    with pytest.raises(DiagnosticError) as caught:
        from_wire({"ttlTurns": 2, "ttl_turns": 3}, "session/remind")
    assert str(caught.value) == (
        "session/remind: HARN-RMD-002: `ttl_turns` is given twice, as 2 and 3; send one"
    )


def test_hints_under_meta_fill_only_what_is_absent() -> None:
    meta = {"harn": {"reminder": {"ttlTurns": 5, "tags": ["old"], "role_hint": "developer"}}}
    assert from_wire({"body": "b", "ttl_turns": 1, "tags": None, "_meta": meta}, "c") == {
        "body": "b",
        "ttl_turns": 1,
        "tags": ["old"],
        "role_hint": "developer",
        "_meta": meta,
    }


@pytest.mark.parametrize("meta", [None, [], {"harn": 3}, {"harn": {"reminder": "x"}}])
def test_a_strange_meta_fills_nothing(meta: object) -> None:
    fields = from_wire({"body": "b", "_meta": meta}, "c")
    assert {name for name in fields if name != "_meta"} == {"body"}


def test_what_goes_out_is_camel_case_without_nulls_or_our_own_meta() -> None:
    made = reminder("a", dedupe_key="k", ttl_turns=2, trust="external", origin="o")
    assert to_wire(made) == {
        "id": "a",
        "tags": [],
        "dedupeKey": "k",
        "ttlTurns": 2,
        "preserveOnCompact": False,
        "propagate": "session",
        "roleHint": "system",
        "source": "in_pipeline",
        "body": "body of a",
        "firedAtTurn": 0,
    }
    assert from_wire(to_wire(made), "c") == {
        name: value for name, value in made.to_dict().items() if name != "_meta"
    }
