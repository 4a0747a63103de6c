"""The gate: what each producer may send, and how its mistakes are named (decision 10)."""

from __future__ import annotations

import hypothesis.strategies as st
import msgspec
import pytest
from hypothesis import given

from tidings.core import producers
from tidings.core.producers import OPTION_FIELDS, PRODUCERS, build, ignored_fields
from tidings.core.reminder import Meta, Provenance, Reminder
from tidings.errors import DiagnosticError

FULL = {
    "body": "Approaching context window cap.",
    "tags": ["token_pressure"],
    "dedupe_key": "token_pressure",
    "ttl_turns": 3,
    "preserve_on_compact": True,
    "propagate": "session",
    "role_hint": "developer",
}


def problems(producer: str, options: object) -> list[tuple[str, str]]:
    with pytest.raises(DiagnosticError) as caught:
        build(producer, options, id="new")
    assert caught.value.code == caught.value.problems[0].code
    return [(problem.code, problem.field) for problem in caught.value.problems]


def test_a_full_set_of_options_becomes_the_reminder_it_describes() -> None:
    assert build("pipeline", FULL, id="new", turn=4) == Reminder(
        id="new",
        tags=("token_pressure",),
        dedupe_key="token_pressure",
        ttl_turns=3,
        preserve_on_compact=True,
        propagate="session",
        role_hint="developer",
        source="in_pipeline",
        body="Approaching context window cap.",
        fired_at_turn=4,
    )


def test_defaults_are_those_of_the_specification() -> None:
    assert build("pipeline", {"body": "b"}, id="new").to_dict() == {
        "id": "new",
        "tags": [],
        "preserve_on_compact": False,
        "propagate": "session",
        "role_hint": "system",
        "source": "in_pipeline",
        "body": "b",
        "fired_at_turn": 0,
    }


def test_null_means_absent() -> None:
    options = dict.fromkeys(OPTION_FIELDS, None) | {"body": "b"}
    assert build("pipeline", options, id="new") == build("pipeline", {"body": "b"}, id="new")


def test_tags_and_keys_are_trimmed_and_tags_kept_once_in_order() -> None:
    options = {"body": " b ", "tags": [" b ", "a", "b"], "dedupe_key": " k "}
    made = build("pipeline", options, id="new")
    assert (made.body, made.tags, made.dedupe_key) == (" b ", ("b", "a"), "k")


@pytest.mark.parametrize("field", ["body", "dedupe_key"])
def test_half_a_surrogate_pair_is_refused_because_no_wire_can_carry_it(field: str) -> None:
    assert problems("pipeline", {"body": "b", field: "a\ud83d"}) == [("HARN-RMD-001", field)]
    assert problems("pipeline", {"body": "b", "tags": ["\ud83d"]}) == [("HARN-RMD-001", "tags")]


def test_a_blank_dedupe_key_is_no_key() -> None:
    assert build("pipeline", {"body": "b", "dedupe_key": "  "}, id="new").dedupe_key is None


@pytest.mark.parametrize(
    ("producer", "shape"),
    [
        ("pipeline", "HARN-RMD-001"),
        ("hook", "HARN-RMD-001"),
        ("provider", "HARN-RMD-006"),
        ("bridge", "HARN-RMD-002"),
        ("mcp", "HARN-RMD-002"),
    ],
)
def test_each_producer_names_a_wrong_shape_by_its_own_code(producer: str, shape: str) -> None:
    wrong = {
        "body": " ",
        "tags": "one",
        "dedupe_key": 3,
        "ttl_turns": 0,
        "preserve_on_compact": "yes",
        "propagate": "everywhere",
        "role_hint": "shout",
    }
    assert problems(producer, wrong) == [
        (shape, "body"),
        (shape, "tags"),
        (shape, "dedupe_key"),
        (shape, "ttl_turns"),
        (shape, "preserve_on_compact"),
        ("HARN-RMD-005", "propagate"),
        (shape, "role_hint"),
    ]


@pytest.mark.parametrize("producer", ["pipeline", "hook", "provider", "bridge"])
def test_strict_producers_refuse_unknown_keys_after_the_known_fields(producer: str) -> None:
    options = {"body": "b", "propagate": "no", "bodyy": 1, "zeal": 2}
    assert problems(producer, options) == [
        ("HARN-RMD-005", "propagate"),
        ("HARN-RMD-001", "bodyy"),
        ("HARN-RMD-001", "zeal"),
    ]


def test_mcp_ignores_unknown_fields_and_says_which() -> None:
    options = {"body": "b", "colour": "red", "x": 1}
    assert build("mcp", options, id="new").body == "b"
    assert ignored_fields("mcp", options) == ("colour", "x")
    assert ignored_fields("bridge", options) == ()


def test_the_message_names_the_field_the_value_and_the_fix() -> None:
    with pytest.raises(DiagnosticError) as caught:
        build("pipeline", {"body": "b", "propagate": "alll", "dedupe": 1}, id="new")
    assert str(caught.value) == (
        "inject_reminder: HARN-RMD-005: `propagate` must be one of all, session, none; got 'alll'; "
        "HARN-RMD-001: unknown key `dedupe`; did you mean `dedupe_key`?"
    )


def test_a_long_value_is_cut_in_the_message() -> None:
    with pytest.raises(DiagnosticError) as caught:
        build("pipeline", {"body": "b", "ttl_turns": "9" * 10_000}, id="new")
    assert len(str(caught.value)) < 250


def test_content_on_the_bridge_is_told_to_be_body() -> None:
    assert problems("bridge", {"content": "b"}) == [("HARN-RMD-002", "body"), ("HARN-RMD-002", "content")]


def test_the_bridge_trims_the_body_and_takes_a_client_id_but_no_client_turn() -> None:
    options = {
        "body": "  b  ",
        "id": "mine",
        "fired_at_turn": 9,
        "source": "bridge",
        "_meta": {"tidings": {"trust": "operator"}},
    }
    made = build("bridge", options, id="new", turn=2, origin="editor")
    assert made == Reminder(
        id="mine",
        tags=(),
        preserve_on_compact=False,
        propagate="session",
        role_hint="system",
        source="bridge",
        body="b",
        fired_at_turn=2,
        meta=Meta(tidings=Provenance(trust="host", origin="editor")),
    )


@pytest.mark.parametrize(
    ("field", "value"),
    [("id", " "), ("id", 7), ("source", "hook"), ("fired_at_turn", -1), ("_meta", [])],
)
def test_wire_fields_are_checked_too(field: str, value: object) -> None:
    assert problems("bridge", {"body": "b", field: value}) == [("HARN-RMD-002", field)]


@pytest.mark.parametrize("field", ["id", "source", "fired_at_turn", "_meta"])
def test_pipeline_code_may_not_set_what_tidings_stamps(field: str) -> None:
    assert problems("pipeline", {"body": "b", field: "x"}) == [("HARN-RMD-001", field)]


@pytest.mark.parametrize("options", [None, "text", 3, ["body"]])
def test_options_that_are_no_mapping_are_refused(options: object) -> None:
    assert problems("provider", options) == [("HARN-RMD-006", "")]


def test_source_and_trust_come_from_the_producer() -> None:
    assert {name: (rule.source, rule.trust) for name, rule in PRODUCERS.items()} == {
        "pipeline": ("in_pipeline", "operator"),
        "hook": ("hook", "operator"),
        "provider": ("stdlib_provider", "operator"),
        "bridge": ("bridge", "host"),
        "mcp": ("bridge", "external"),
    }


DEFAULTS = build("pipeline", {"body": "b"}, id="new").to_dict()

values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 3),
    st.floats(allow_nan=False),
    st.sampled_from(["", " ", "a", " a ", "all", "session", "none", "system", "user_block"]),
    st.lists(st.one_of(st.sampled_from(["", "a", " a", "b"]), st.integers()), max_size=3),
    st.sets(st.sampled_from(["a", "b"])),
    st.sampled_from(["\ud800", "a\udc00", "ä"]),
)
mappings = st.dictionaries(st.sampled_from([*sorted(OPTION_FIELDS), "extra"]), values, max_size=6)


@given(mappings)
def test_the_fast_path_accepts_exactly_what_the_field_checks_accept(options: dict[str, object]) -> None:
    refused = None
    try:
        values, _ = producers._field_by_field(PRODUCERS["pipeline"], options, "new")
    except DiagnosticError as error:
        refused = error.problems
    if refused is None:
        made = build("pipeline", options, id="new").to_dict()
        assert made == {**DEFAULTS, **msgspec.to_builtins(values), "tags": list(values.get("tags", ()))}
    else:
        with pytest.raises(DiagnosticError) as caught:
            build("pipeline", options, id="new")
        assert caught.value.problems == refused


@given(mappings)
def test_what_is_built_reads_back_from_its_json(options: dict[str, object]) -> None:
    try:
        made = build("pipeline", {**options, "body": "b"}, id="new")
    except DiagnosticError:
        return
    assert msgspec.json.decode(msgspec.json.encode(made), type=Reminder) == made
    assert msgspec.convert(made.to_dict(), Reminder) == made
