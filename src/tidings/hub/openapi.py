"""The OpenAPI document of the hub, made of the table and the types that serve it. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from tidings.core.reminder import Payload
from tidings.errors import Problem
from tidings.hosts.happening import HOSTS
from tidings.hub.exact import exact
from tidings.hub.hosting.endpoint import PATH as HOOK
from tidings.hub.login import COOKIE, LOGIN, LOGOUT
from tidings.hub.operations import OPERATIONS, PREFIX, VERSION, Operation

_REF = "#/components/schemas/{name}"

STATUSES: dict[int, str] = {
    400: "The request is wrong; the message names the field, the value and the fix.",
    401: "The token or the cookie is missing or wrong.",
    403: "The Host or Origin is not the hub's own.",
    404: "The session or the reminder is not known.",
    409: "It was delivered already, its time was over, or its id is taken by another reminder.",
    413: "The body is too long.",
    415: "The body is not application/json.",
    429: "The hub holds as much as it may, or too many wrong tokens came; send again later.",
    500: "The log could not be written, or the disk did not confirm it; send again with the same id.",
}
"""Every refusal, and what it means."""


class ErrorData(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What a program reads; which members there are depends on the error."""

    code: str | None = None
    problems: list[Problem] | None = None
    field: str | None = None
    reason: str | None = None


class Error(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Why it was refused; `code` is that of the JSON-RPC bridge."""

    code: int
    message: str
    data: ErrorData | None = None


class Refusal(msgspec.Struct, kw_only=True):
    """The body of every answer that is not 200."""

    error: Error


class Health(msgspec.Struct, kw_only=True):
    """The hub answers."""

    status: Literal["ok"]
    version: str


def document(version: str) -> Payload:
    """The whole document, JSON-ready."""
    types = [kind for each in OPERATIONS for kind in (each.asked, each.answered)]
    _, components = msgspec.json.schema_components(
        [*types, Refusal, Health], ref_template=_REF, schema_hook=_anything
    )
    components = {name: exact(name, schema) for name, schema in components.items()}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Tidings hub", "version": version},
        "paths": _paths(components),
        "components": {
            "schemas": components,
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "cookie": {"type": "apiKey", "in": "cookie", "name": COOKIE},
            },
        },
        "security": [{"token": []}, {"cookie": []}],
    }


def _anything(_: type) -> Payload:
    """The schema of a member that may hold any JSON."""
    return {"description": "Any JSON value."}


def _paths(components: Payload) -> Payload:
    paths: dict[str, Payload] = {}
    for each in OPERATIONS:
        paths.setdefault(each.path, {})[each.verb.lower()] = _operation(each, components)
    paths[f"{PREFIX}/records"] = {"get": _records()}
    paths[f"{PREFIX}/health"] = {"get": _health()}
    paths[f"{PREFIX}{HOOK}"] = {"post": _hook()}
    paths[LOGIN] = {"post": _signing("login", "Give the panel's page its cookie.")}
    paths[LOGOUT] = {"post": _signing("logout", "Take the cookie back.")}
    return dict(paths)


def _operation(each: Operation, components: Payload) -> Payload:
    told: Payload = {
        "operationId": each.name,
        "summary": each.summary,
        "responses": {"200": _json(each.answered.__doc__ or "", each.answered), **_refusals(STATUSES)},
    }
    if each.verb == "POST":
        return {**told, "requestBody": {"required": True, "content": _content(each.asked)}}
    return {**told, "parameters": _query(components[each.asked.__name__])}


def _query(schema: object) -> list[Payload]:
    read = schema if isinstance(schema, dict) else {}
    needed = read.get("required", ())
    return [
        _parameter(name, member, "query", required=name in needed)
        for name, member in read.get("properties", {}).items()
    ]


def _parameter(name: str, schema: Payload, place: str, *, required: bool = False) -> Payload:
    return {"name": name, "in": place, "required": required, "schema": schema}


def _records() -> Payload:
    cursor: Payload = {"type": "integer", "minimum": 0}
    return {
        "operationId": "records",
        "summary": f"Follow the hub's records, or what a session told, as server-sent events ({VERSION}).",
        "parameters": [
            _parameter("fromCursor", cursor, "query"),
            _parameter("kindPrefix", {"type": "string"}, "query"),
            _parameter("sessionId", {"type": "string"}, "query"),
            _parameter("Last-Event-ID", {"type": "string", "pattern": "^[0-9]+$"}, "header"),
        ],
        "responses": {
            "200": {"description": "A stream of records.", "content": {"text/event-stream": {}}},
            **_refusals((400, 401, 403, 404, 429)),
        },
    }


def _health() -> Payload:
    return {
        "operationId": "health",
        "summary": "Tell that the hub answers.",
        "security": [],
        "responses": {"200": _json("The hub answers.", Health), **_refusals((403,))},
    }


def _hook() -> Payload:
    """A host's own payload and its own answer: any object."""
    anything: Payload = {"application/json": {"schema": {"type": "object"}}}
    known: Payload = {"type": "string", "enum": list(HOSTS)}
    answered: Payload = {"description": "What the host reads; empty means nothing.", "content": anything}
    return {
        "operationId": "hook",
        "summary": "Answer a hook of a coding agent: its payload as it is, its answer as it reads it.",
        "parameters": [_parameter("host", known, "path", required=True)],
        "requestBody": {"required": True, "content": anything},
        "responses": {"200": answered, **_refusals((400, 401, 403, 404, 413, 415))},
    }


def _signing(name: str, summary: str) -> Payload:
    done: Payload = {"description": "Done; the cookie is in `Set-Cookie`."}
    refusals = _refusals((401, 403, 429))
    return {"operationId": name, "summary": summary, "responses": {"204": done, **refusals}}


def _refusals(codes: Iterable[int]) -> Payload:
    return {str(code): _json(STATUSES[code], Refusal) for code in codes}


def _json(description: str, kind: type[msgspec.Struct]) -> Payload:
    return {"description": description, "content": _content(kind)}


def _content(kind: type[msgspec.Struct]) -> Payload:
    return {"application/json": {"schema": {"$ref": _REF.format(name=kind.__name__)}}}
