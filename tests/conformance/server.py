"""The server that the conformance suite examines: the SDK's, with our reminders, router and `serve_http`.

    python -m tests.conformance.server [PORT]

It prints its url and serves until SIGTERM. What it offers is what the suite asks for (`tools`, `rounds`,
`content`); what is examined is how `tidings.mcp` lets it be served.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from typing import Any

import mcp_types as types
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS

from tests.conformance import content, rounds, tools
from tidings.mcp import Reminders, serve_http

NAME = "tidings-conformance"
Context = ServerRequestContext[Any, Any]
_TEMPLATE = re.compile(r"test://template/([^/]+)/data")
HINTS = {
    method: CacheHint(ttl_ms=1_000, scope="public")
    for method in ("tools/list", "prompts/list", "resources/list", "resources/templates/list")
}


def build() -> Reminders:
    """The server with its reminders."""
    made: list[Reminders] = []

    async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> tools.Answer:
        return await tools.call(ctx, params, made[0])

    server: Server[Any] = Server(
        NAME,
        version="1.0.0",
        on_list_tools=_list_tools,
        on_call_tool=call_tool,
        on_list_resources=_list_resources,
        on_list_resource_templates=_list_templates,
        on_read_resource=_read_resource,
        on_list_prompts=_list_prompts,
        on_get_prompt=_get_prompt,
        on_completion=_complete,
        cache_hints=HINTS,
    )
    server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, _set_level)
    server.middleware.append(RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience=NAME))
    made.append(Reminders(server))
    return made[0]


async def _list_tools(_: Context, __: object) -> types.ListToolsResult:
    return types.ListToolsResult(tools=tools.listed())


async def _list_resources(_: Context, __: object) -> types.ListResourcesResult:
    return types.ListResourcesResult(
        resources=[
            types.Resource(uri=uri, name=uri, description="A fixture.", mime_type=found.mime_type)
            for uri, found in content.RESOURCES.items()
        ]
    )


async def _list_templates(_: Context, __: object) -> types.ListResourceTemplatesResult:
    template = types.ResourceTemplate(
        name="data", uri_template=content.TEMPLATE, description="A fixture.", mime_type="application/json"
    )
    return types.ListResourceTemplatesResult(resource_templates=[template])


async def _read_resource(_: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    uri = str(params.uri)
    if uri in content.RESOURCES:
        return types.ReadResourceResult(contents=[content.RESOURCES[uri]])
    found = _TEMPLATE.fullmatch(uri)
    if found is None:
        raise MCPError(INVALID_PARAMS, "Resource not found", {"uri": uri})
    data = {"id": found[1], "templateTest": True, "data": f"Data for ID: {found[1]}"}
    filled = types.TextResourceContents(uri=uri, mime_type="application/json", text=json.dumps(data))
    return types.ReadResourceResult(contents=[filled])


async def _list_prompts(_: Context, __: object) -> types.ListPromptsResult:
    return types.ListPromptsResult(
        prompts=[
            types.Prompt(
                name=name,
                description=words,
                arguments=[types.PromptArgument(name=one, required=True) for one in arguments],
            )
            for name, (arguments, words) in content.PROMPTS.items()
        ]
    )


async def _get_prompt(
    _: Context, params: types.GetPromptRequestParams
) -> types.GetPromptResult | types.InputRequiredResult:
    if params.name not in content.PROMPTS:
        raise MCPError(INVALID_PARAMS, f"there is no prompt {params.name!r}")
    blocks = content.prompt(params.name, params.arguments or {})
    if not blocks:
        about = rounds.prompt_context(params)
        if about is None:
            return types.InputRequiredResult(input_requests=rounds.CONTEXT)
        blocks = [content.text(f"The context is {about}.")]
    return types.GetPromptResult(
        messages=[types.PromptMessage(role="user", content=block) for block in blocks]
    )


async def _complete(_: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
    found = [word for word in ("paris", "park", "party") if word.startswith(params.argument.value)]
    return types.CompleteResult(completion=types.Completion(values=found, total=len(found), has_more=False))


async def _set_level(_: Context, __: types.SetLevelRequestParams) -> types.EmptyResult:
    return types.EmptyResult()


async def main(port: int = 0) -> None:
    """Serve until SIGTERM."""
    await serve_http(build().server, port=port, ready=lambda url: print(url, flush=True))


if __name__ == "__main__":
    asyncio.run(main(*map(int, sys.argv[1:])))
