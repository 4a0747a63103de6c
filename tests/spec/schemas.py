"""The generated schemas, ready to be asked; and what a test of them needs."""

from __future__ import annotations

import json
from functools import cache

from jsonschema import Draft202012Validator

from spec.generate import FOLDER
from spec.parts.schema import kebab


@cache
def validator(name: str) -> Draft202012Validator:
    """The validator of one artefact, from its file."""
    path = FOLDER / f"{kebab(name)}.schema.json"
    return Draft202012Validator(json.loads(path.read_text()))


def problems(name: str, value: object) -> list[str]:
    """What the artefact has against `value`; empty when it is right. `value` travels as JSON first."""
    travelled = json.loads(json.dumps(value))
    return [f"{error.json_path}: {error.message}" for error in validator(name).iter_errors(travelled)]


def accepts(name: str, value: object) -> bool:
    """Whether the artefact takes `value`."""
    return not problems(name, value)
