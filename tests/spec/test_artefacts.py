"""The artefacts are what the code says today, and are what they claim to be."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from spec import generate
from spec.parts import gate, schema
from spec.parts.artefacts import ARTEFACTS, pool, word_for
from spec.parts.schema import Pool, closed, kebab, references
from spec.parts.words import MEANING, TYPES
from tidings.bridge.methods import METHODS, OPERATIONS
from tidings.bridge.shapes import REQUESTS, RESPONSES, UPDATES
from tidings.bridge.updates import KINDS
from tidings.core.producers import FIELDS

FILES = sorted(generate.FOLDER.glob("*.schema.json"))


@pytest.fixture(scope="module")
def known() -> Pool:
    return pool()


def members(known: object, path: str) -> list[tuple[str, str]]:
    """Every member of a schema, inner ones too, with the path that its words are looked up under."""
    found = []
    properties = known.get("properties") if isinstance(known, dict) else None
    for name, inner in (properties or {}).items():
        found += [(path, name), *members(inner, f"{path}_{name.strip('_')}")]
    return found


def test_every_artefact_is_current() -> None:
    assert [str(path.relative_to(generate.HERE)) for path in generate.stale()] == []


def test_a_stale_a_missing_and_a_left_over_file_are_found_and_put_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "spec" / "protocol-artifacts"
    folder.mkdir(parents=True)
    readme = folder.parent / "README.md"
    readme.write_text("<!-- generated: files -->\nold\n<!-- /generated -->\n")
    for name, value in (("HERE", folder.parent), ("FOLDER", folder), ("README", readme)):
        monkeypatch.setattr(generate, name, value)
    assert generate.main(["--write"]) == 0
    assert generate.main([]) == 0
    (folder / "reminder-spec.schema.json").write_text("{}")
    (folder / "refusal.schema.json").unlink()
    (folder / "former.schema.json").write_text("{}")
    capsys.readouterr()
    assert generate.main(["--check"]) == 1
    told = capsys.readouterr().out.splitlines()
    wrong = ["reminder-spec", "refusal", "former"]
    assert told[:-1] == [f"stale: spec/protocol-artifacts/{name}.schema.json" for name in wrong]
    assert generate.main(["--write"]) == 0
    assert generate.main(["--check"]) == 0
    assert not (folder / "former.schema.json").exists()


def test_an_unknown_option_is_refused_with_the_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert generate.main(["--wirte"]) == 2
    assert capsys.readouterr().out == "usage: python -m spec.generate [--write|--check]\n"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_schema_is_valid_and_stands_alone(path: Path) -> None:
    document = json.loads(path.read_text())
    Draft202012Validator.check_schema(document)
    assert document["$schema"] == Draft202012Validator.META_SCHEMA["$id"]
    assert document["$id"] == f"urn:tidings:v1:{path.name.removesuffix('.schema.json')}"
    assert {*references(document)} == set(document.get("$defs", {}))


@pytest.mark.parametrize("path", [*FILES, generate.FOLDER / "tidings.d.ts"], ids=lambda path: path.name)
def test_no_artefact_names_a_host_but_the_dialects(path: Path) -> None:
    assert set(re.findall(r"https?://[^\"\s]+", path.read_text())) <= {schema.DIALECT}


def test_every_schema_says_what_it_is_and_what_each_member_means(known: Pool) -> None:
    assert [name for name, found in known.items() if not found.get("description")] == []
    used = {word_for(path, name) for kind in known for path, name in members(known[kind], kind)}
    assert used == MEANING.keys()
    assert set(TYPES) == {*schema.VOCABULARY, "NotBlank"}


def test_every_set_of_words_is_used_and_none_is_written_out_beside_its_name(known: Pool) -> None:
    used = {name for found in known.values() for name in references(found)}
    assert used >= set(schema.VOCABULARY)
    text = json.dumps([found for name, found in known.items() if name not in schema.VOCABULARY])
    for words in schema.VOCABULARY.values():
        assert json.dumps(list(words)) not in text.replace(f'"default": {json.dumps(list(words))}', "")


def test_every_operation_and_every_update_has_its_artefacts(known: Pool) -> None:
    titles = {f"Session{''.join(word.title() for word in name.split('_'))}" for name in OPERATIONS}
    assert {f"{title}Request" for title in titles} | {f"{title}Response" for title in titles} <= {
        *ARTEFACTS
    }
    assert REQUESTS.keys() == RESPONSES.keys() == set(OPERATIONS)
    assert tuple(UPDATES) == KINDS
    methods = [known[f"{title}Call"]["properties"]["method"]["enum"] for title in titles]
    assert sorted(name for names in methods for name in names) == sorted(METHODS)


def test_a_request_has_exactly_the_fields_of_the_gates_table(known: Pool) -> None:
    fields = {field.name for field in FIELDS}
    options = {field.name for field in FIELDS if not field.wire}
    assert set(known["ReminderSpec"]["properties"]) == options
    assert set(known["SessionRemindRequest"]["properties"]) == {*fields, "session_id", "mode"}
    camel = {schema.snake(name) for name in known["SessionInjectReminderRequest"]["properties"]}
    assert camel == {*fields, "session_id", "mode"}


def test_a_new_artefact_is_one_entry(known: Pool) -> None:
    more: Pool = {**known, "ReminderNotification": {"description": "One.", "$ref": "#/$defs/ReminderSpec"}}
    document = closed("ReminderNotification", more)
    Draft202012Validator.check_schema(document)
    assert document["$id"] == "urn:tidings:v1:reminder-notification"
    assert set(document["$defs"]) == {"ReminderSpec", "Propagate", "RoleHint", "NotBlank"}
    assert Draft202012Validator(document).is_valid({"body": "The build is red."})
    assert not Draft202012Validator(document).is_valid({"body": " "})


def test_the_readme_lists_every_file_and_its_links_lead_somewhere() -> None:
    page = generate.README.read_text()
    listed = re.findall(r"\]\((protocol-artifacts/[^)]+)\)", page)
    assert sorted(Path(name).name for name in listed) == sorted(p.name for p in generate.FOLDER.iterdir())
    links = re.findall(r"\]\(([^)#]+)\)", page)
    assert [link for link in links if not (generate.HERE / link).exists()] == []


def test_kebab_and_snake_spell_names() -> None:
    assert kebab("SessionUpdate_ReminderEmitted") == "session-update-reminder-emitted"
    assert schema.snake("droppedReminderIds") == "dropped_reminder_ids"
    assert schema.snake("_meta") == "_meta"


def test_asking_stops_when_the_gate_does_not_take_what_it_should() -> None:
    with pytest.raises(AssertionError, match="does not take"):
        gate.required(gate.options_door("pipeline"), {"body": " "})
    with pytest.raises(AssertionError, match="takes no value for 'ttl'"):
        gate.learnt(gate.options_door("pipeline"), "ttl", {"body": "x"})
