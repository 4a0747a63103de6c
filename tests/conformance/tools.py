"""The tools that the conformance suite calls on a server, each a schema and a coroutine. Fixtures.

Those that need another round are in `rounds`. With every call a reminder is emitted and a resource changes:
the suite asks for neither, and must find nothing amiss.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types import INVALID_PARAMS

from tests.conformance import rounds
from tests.conformance.content import WATCHED, audio, embedded, image, text
from tidings.mcp import Reminders, progress
from tidings.mcp.names import MISSING_CAPABILITY

Context = ServerRequestContext[Any, Any]
Blocks = list[types.ContentBlock]
Tool = Callable[[Context, dict[str, Any], Reminders], Awaitable[Blocks]]
Answer = types.CallToolResult | types.InputRequiredResult

PAUSE = 0.05
"""Seconds between two notifications, as the suite asks."""

EMPTY: dict[str, Any] = {"type": "object", "properties": {}}


def _strings(*names: str) -> dict[str, Any]:
    properties = {name: {"type": "string"} for name in names}
    return {"type": "object", "properties": properties, "required": list(names)}


SCHEMAS: dict[str, dict[str, Any]] = {
    "test_sampling": _strings("prompt"),
    "test_elicitation": _strings("message"),
    "test_headers": {
        "type": "object",
        "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
    },
    "json_schema_2020_12_tool": {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            }
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": False,
    },
}
"""The tools that take arguments; the last is to come through a listing with every keyword."""

DEFAULTS = {
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {"type": "boolean", "default": True},
}


def _titled(noun: str) -> list[dict[str, str]]:
    numbers = ("First", "Second", "Third")
    return [{"const": f"value{n}", "title": f"{word} {noun}"} for n, word in enumerate(numbers, 1)]


OPTIONS = ["option1", "option2", "option3"]
ENUMS = {
    "untitledSingle": {"type": "string", "enum": OPTIONS},
    "titledSingle": {"type": "string", "oneOf": _titled("Option")},
    "legacyEnum": {
        "type": "string",
        "enum": ["opt1", "opt2", "opt3"],
        "enumNames": ["Option One", "Option Two", "Option Three"],
    },
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": OPTIONS}},
    "titledMulti": {"type": "array", "items": {"anyOf": _titled("Choice")}},
}


async def _logs(ctx: Context, _: dict[str, Any], __: Reminders) -> Blocks:
    for number, words in enumerate(("execution started", "processing data", "execution completed")):
        await asyncio.sleep(PAUSE if number else 0)
        params = types.LoggingMessageNotificationParams(level="info", data=f"Tool {words}")
        if not _may_log(ctx):
            continue
        await ctx.session.send_notification(
            types.LoggingMessageNotification(params=params), related_request_id=ctx.request_id
        )
    return [text("It has logged three times.")]


def _may_log(ctx: Context) -> bool:
    """In the stateless era a request says whether it wants to hear log messages."""
    modern = ctx.protocol_version >= "2026"
    return not modern or "io.modelcontextprotocol/logLevel" in (ctx.meta or {})


async def _reports(ctx: Context, _: dict[str, Any], __: Reminders) -> Blocks:
    async with progress(ctx) as report:
        for done in (0, 50, 100):
            await report(done, total=100)
            await asyncio.sleep(PAUSE)
    return [text("It has reported its progress.")]


async def _samples(ctx: Context, arguments: dict[str, Any], _: Reminders) -> Blocks:
    _require(ctx, "sampling")
    asked = rounds.samples(str(arguments.get("prompt", "")))
    answer = await ctx.session.send_request(asked, types.CreateMessageResult, metadata=_related(ctx))
    said = answer.content
    return [text(f"LLM response: {said.text if isinstance(said, types.TextContent) else said.type}")]


def _elicits(said: str, properties: dict[str, Any]) -> Tool:
    async def tool(ctx: Context, arguments: dict[str, Any], _: Reminders) -> Blocks:
        _require(ctx, "elicitation")
        schema = {"type": "object", "properties": properties, "required": list(properties)}
        message = str(arguments.get("message", "Please fill this in"))
        params = types.ElicitRequestFormParams(message=message, requested_schema=schema)
        answer = await ctx.session.send_request(
            types.ElicitRequest(params=params), types.ElicitResult, metadata=_related(ctx)
        )
        return [text(f"{said}: action={answer.action}, content={answer.content}")]

    return tool


def _changes(which: Any) -> Tool:
    async def tool(_: Context, __: dict[str, Any], reminders: Reminders) -> Blocks:
        reminders.list_changed(which)
        return [text(f"The {which} have changed.")]

    return tool


async def _needs_sampling(ctx: Context, _: dict[str, Any], __: Reminders) -> Blocks:
    _require(ctx, "sampling")
    return [text("The client can sample.")]


def _gives(*blocks: types.ContentBlock) -> Tool:
    async def tool(_: Context, __: dict[str, Any], ___: Reminders) -> Blocks:
        return list(blocks)

    return tool


TOOLS: dict[str, Tool] = {
    "test_simple_text": _gives(text("This is a simple text response for testing.")),
    "test_image_content": _gives(image()),
    "test_audio_content": _gives(audio()),
    "test_embedded_resource": _gives(
        embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")
    ),
    "test_multiple_content_types": _gives(
        text("Multiple content types test:"),
        image(),
        embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    ),
    "test_tool_with_logging": _logs,
    "test_logging_tool": _logs,
    "test_tool_with_progress": _reports,
    "test_sampling": _samples,
    "test_elicitation": _elicits(
        "User response", {name: {"type": "string"} for name in ("username", "email")}
    ),
    "test_elicitation_sep1034_defaults": _elicits("Elicitation completed", DEFAULTS),
    "test_elicitation_sep1330_enums": _elicits("Elicitation completed", ENUMS),
    "test_missing_capability": _needs_sampling,
    "test_trigger_tool_change": _changes("tools"),
    "test_trigger_prompt_change": _changes("prompts"),
    "test_headers": _gives(text("The headers fit.")),
    "json_schema_2020_12_tool": _gives(text("The schema came through.")),
}

ERROR = "test_error_handling"


def listed() -> list[types.Tool]:
    """All tools, always in this order."""
    return [
        types.Tool(
            name=name, description=f"Fixture of the suite: {name}.", input_schema=SCHEMAS.get(name, EMPTY)
        )
        for name in (*TOOLS, ERROR, *rounds.TOOLS)
    ]


async def call(ctx: Context, params: types.CallToolRequestParams, reminders: Reminders) -> Answer:
    """What a tool answers.

    Raises:
        MCPError: no such tool, or the client lacks a capability that it needs.
    """
    await reminders.emit(f"The tool {params.name} was called.", dedupe_key="called", resource=WATCHED)
    if params.name == ERROR:
        words = "This tool intentionally returns an error for testing"
        return types.CallToolResult(content=[text(words)], is_error=True)
    if params.name in rounds.TOOLS:
        return rounds.call(params.name, params, ctx.session.client_capabilities)
    tool = TOOLS.get(params.name)
    if tool is None:
        raise MCPError(INVALID_PARAMS, f"there is no tool {params.name!r}")
    return types.CallToolResult(content=await tool(ctx, params.arguments or {}, reminders))


def _related(ctx: Context) -> ServerMessageMetadata:
    return ServerMessageMetadata(related_request_id=ctx.request_id)


def _require(ctx: Context, capability: str) -> None:
    if getattr(ctx.session.client_capabilities, capability, None) is None:
        data = {"requiredCapabilities": {capability: {}}}
        raise MCPError(MISSING_CAPABILITY, f"the client has not declared {capability}", data)
