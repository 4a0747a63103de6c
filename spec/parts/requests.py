"""Schemas of what a sender may write: a producer's options, and the parameters of each method.

The reminder's own fields come from the gate's table (`FIELDS`) and are learnt from it; which members the
other methods have is in the types of `tidings.bridge.shapes`. Called by `spec.parts.artefacts`.
"""

from __future__ import annotations

import inspect

import msgspec

from spec.parts.gate import PROBE, Door, closed_to_others, learnt, method_door, options_door, required
from spec.parts.schema import Pool, Schema, named, ref
from tidings.bridge.methods import METHODS, OPERATIONS, PREFIXES, Operation
from tidings.bridge.shapes import REQUESTS, SELECTORS, SessionInjectReminderEnvelope, Wire
from tidings.core.producers import FIELDS, ProducerName, build
from tidings.core.reminder import Payload
from tidings.core.wire import SPELLING

LEAST: dict[Operation, Payload] = {
    "inject": {"content": PROBE},
    "inject_reminder": {"body": PROBE},
    "pending_injections": {},
    "revoke_reminder": {"reminderId": PROBE},
    "clear_reminders": dict.fromkeys(SELECTORS[:2], PROBE),
}
"""Parameters that go through; the generator asks, and stops if they do not."""

META: Schema = {"type": ["object", "null"]}
"""What `_meta` may be, also where a reader does not look at it."""


def reminder_spec() -> Schema:
    """The options of a strict producer in this process."""
    fields = {field.name: field.name for field in FIELDS if not field.wire}
    door, defaults = options_door("pipeline"), defaults_of("pipeline", fields)
    return object_of(door, fields, LEAST["inject_reminder"], SPECIFIES, defaults)


def inject_reminder() -> Schema:
    """The parameters of `session/inject_reminder`, as they should be written."""
    return _reminding("session/inject_reminder", INJECTS, camel=True)


def remind() -> Schema:
    """The parameters of `session/remind`, in the older spelling."""
    return {**_reminding("session/remind", REMINDS, camel=False), "deprecated": True}


SPECIFIES = (
    "What a producer says of a reminder. Id, source, turn and trust are stamped by whoever takes it."
)
INJECTS = "Injects a reminder: ambient context for the model's next turn that the user did not type."
REMINDS = "The older spelling of `SessionInjectReminderRequest`, under the older name `session/remind`."


def _reminding(method: str, text: str, *, camel: bool) -> Schema:
    around = _beside(SessionInjectReminderEnvelope, camel=camel)
    fields = {field.name: SPELLING.get(field.name, field.name) if camel else field.name for field in FIELDS}
    defaults = {**defaults_of("bridge", fields), **_own_defaults(SessionInjectReminderEnvelope, around)}
    return object_of(method_door(method), {**around, **fields}, LEAST["inject_reminder"], text, defaults)


def others() -> Pool:
    """The requests that are types as they stand, with what their readers ask of each member."""
    return {
        kind.__name__: _typed(operation, kind)
        for operation, kind in REQUESTS.items()
        if kind is not SessionInjectReminderEnvelope
    }


def _typed(operation: Operation, kind: type[Wire]) -> Schema:
    names, method = _beside(kind, camel=True), f"{PREFIXES[0]}{operation}"
    text = inspect.getdoc(kind) or ""
    schema = object_of(method_door(method), names, LEAST[operation], text, _own_defaults(kind, names))
    members = schema["properties"]
    assert isinstance(members, dict)
    members["_meta"] = META
    return _one_selector(schema) if operation == "clear_reminders" else schema


def _one_selector(schema: Schema) -> Schema:
    """With what no member says alone: one of the selectors is there, and not blank."""
    written = [SPELLING.get(name, name) for name in SELECTORS]
    some = [{"required": [name], "properties": {name: ref("NotBlank")}} for name in written]
    return {**schema, "anyOf": some}


def _beside(kind: type[Wire], *, camel: bool) -> dict[str, str]:
    """The members of a request without `_meta`: our name, and how it is written."""
    fields = msgspec.structs.fields(kind)
    return {f.name: f.encode_name if camel else f.name for f in fields if f.name != "meta"}


def _own_defaults(kind: type[Wire], names: dict[str, str]) -> Payload:
    given = {field.name: field.default for field in msgspec.structs.fields(kind)}
    unknown = (msgspec.NODEFAULT, msgspec.UNSET)
    return {names[name]: given[name] for name in names if given[name] not in unknown}


def defaults_of(producer: ProducerName, names: dict[str, str]) -> Payload:
    """What the gate gives to the smallest reminder; stamps of the receiver are no defaults."""
    plain = build(producer, LEAST["inject_reminder"], id=PROBE).to_dict()
    chosen = [
        field.name for field in FIELDS if not field.wire and field.name not in LEAST["inject_reminder"]
    ]
    return {names[name]: plain[name] for name in chosen if name in plain}


def object_of(door: Door, names: dict[str, str], least: Payload, text: str, defaults: Payload) -> Schema:
    """An object as a door takes it: `names` are its members as they are written, `least` goes through."""
    members: dict[str, Schema] = {}
    for written in names.values():
        without = {name: value for name, value in least.items() if name != written}
        members[written] = learnt(door, written, without)
        if written in defaults:
            members[written]["default"] = defaults[written]
    schema: Schema = {"type": "object", "description": text, "properties": members}
    if needed := required(door, least):
        schema["required"] = needed
    if closed_to_others(door, least):
        schema["additionalProperties"] = False
    return schema


def calls(pool: Pool) -> Pool:
    """A JSON-RPC message for each method, and any of them."""
    one = {f"{_title(operation)}Call": _call(operation, pool) for operation in OPERATIONS}
    every: Schema = {"description": "A call about reminders.", "anyOf": [ref(name) for name in one]}
    return {**one, "SessionCall": every}


def _title(operation: Operation) -> str:
    return "Session" + "".join(word.title() for word in operation.split("_"))


def _call(operation: Operation, pool: Pool) -> Schema:
    names = [method for method, does in METHODS.items() if does == operation]
    request = f"{_title(operation)}Request"
    forms = [request, "SessionRemindRequest"] if operation == "inject_reminder" else [request]
    params = ref(request) if len(forms) == 1 else {"anyOf": [ref(form) for form in forms]}
    bare = not any(pool[form].get("required") or pool[form].get("anyOf") for form in forms)
    return {
        "type": "object",
        "description": f"Calls `{names[0]}`.",
        "properties": {
            "jsonrpc": named(["2.0"]),
            "id": {"type": ["string", "number", "null"]},
            "method": {"enum": names},
            "params": params,
        },
        "required": ["jsonrpc", "method"] if bare else ["jsonrpc", "method", "params"],
    }
