"""The client that the conformance suite examines: our host, `Servers`, doing what a session does.

    python -m tests.conformance.client URL

It connects, lists the tools and calls them through the loop's dispatcher. The suite names the scenario, its
version and its context in the environment; exit 0 means that the host got through. Tokens come from the
SDK's own OAuth client, which a caller hands to `Servers(auth=…)`; the user's part in it is played here.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, urlparse

import httpx2
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl

from tidings.agent.port import ToolCall
from tidings.agent.session import Session
from tidings.agent.tools.approval import Gate
from tidings.agent.tools.dispatch import Dispatcher
from tidings.agent.tools.rules import Rule
from tidings.agent.tools.tool import Tool
from tidings.mcp.config import Server
from tidings.mcp.host.servers import Servers
from tidings.mcp.host.settings import Deadlines
from tidings.mcp.names import MODERN

NAME = "suite"
CALLBACK = "http://localhost:3030/callback"
CLIENT_DOCUMENT = "https://conformance-test.local/client-metadata.json"
"""The client id that the suite expects where clients are known by their document."""

ARGUMENTS: dict[str, dict[str, Any]] = {"add_numbers": {"a": 5, "b": 3}}
PATIENT = Deadlines(connect=200, probe=200, request=200)
"""The suite starts some thirty clients at once, and some of them log in first."""

SCHEMA_TOOL, ECHO_TOOL = "json_schema_2020_12_tool", "json_schema_echo"


class Memory:
    """What an OAuth client keeps."""

    def __init__(self, known: OAuthClientInformationFull | None) -> None:
        self._tokens: OAuthToken | None = None
        self._client = known

    async def get_tokens(self) -> OAuthToken | None:
        return self._tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self._tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self._client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self._client = client_info


class User:
    """Follows the link to the authorization server, which says yes at once, and brings back the code."""

    def __init__(self) -> None:
        self._brought: dict[str, list[str]] = {}

    async def follow(self, url: str) -> None:
        async with httpx2.AsyncClient() as browser:
            answer = await browser.get(url, follow_redirects=False)
        self._brought = parse_qs(urlparse(answer.headers["location"]).query)

    async def bring(self) -> AuthorizationCodeResult:
        one = {name: values[0] for name, values in self._brought.items()}
        return AuthorizationCodeResult(code=one["code"], state=one.get("state"), iss=one.get("iss"))


def oauth(url: str, context: Mapping[str, Any]) -> OAuthClientProvider:
    """The SDK's OAuth client; `context` may name a client that is registered already."""
    user = User()
    metadata = OAuthClientMetadata(
        client_name="tidings-conformance",
        redirect_uris=[AnyUrl(CALLBACK)],
        grant_types=["authorization_code", "refresh_token"],
        response_types=["code"],
    )
    return OAuthClientProvider(
        url, metadata, Memory(_registered(context)), user.follow, user.bring, CLIENT_DOCUMENT
    )


def _registered(context: Mapping[str, Any]) -> OAuthClientInformationFull | None:
    if "client_secret" not in context or "issuer" not in context:
        return None
    return OAuthClientInformationFull(
        client_id=context["client_id"],
        client_secret=context["client_secret"],
        issuer=context["issuer"],
        redirect_uris=[AnyUrl(CALLBACK)],
        token_endpoint_auth_method="client_secret_basic",
    )


def calls(tools: list[Tool], context: Mapping[str, Any]) -> list[ToolCall]:
    """What is called: what the context asks for, or each tool once."""
    asked = context.get("toolCalls")
    if asked is not None:
        return [_call(n, one["name"], one["arguments"]) for n, one in enumerate(asked)]
    names = {tool.name.removeprefix(f"{NAME}__"): tool for tool in tools}
    if ECHO_TOOL in names:
        return [_call(0, ECHO_TOOL, {"schema": names[SCHEMA_TOOL].spec.schema})]
    return [_call(n, name, _filled(tool)) for n, (name, tool) in enumerate(names.items())]


def _call(number: int, name: str, arguments: Mapping[str, Any]) -> ToolCall:
    return ToolCall(f"c{number}", f"{NAME}__{name}", dict(arguments))


def _filled(tool: Tool) -> dict[str, Any]:
    """Arguments for a tool: known ones, or a text for each required field."""
    name = tool.name.removeprefix(f"{NAME}__")
    required = tool.spec.schema.get("required")
    return ARGUMENTS.get(name, dict.fromkeys(required, "test") if isinstance(required, list) else {})


async def main(url: str) -> int:
    """Work with the server once; gives the exit code."""
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
    version = os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION", MODERN)
    server = Server(name=NAME, url=url, era="auto" if version == MODERN else "legacy")
    needs_auth = os.environ.get("MCP_CONFORMANCE_SCENARIO", "").startswith("auth/")
    auth = {NAME: oauth(url, context)} if needs_auth else {}
    session = Session("conformance")
    async with Servers([server], session=session, auth=auth, deadlines=PATIENT) as servers:
        status = servers[NAME]
        print(status, file=sys.stderr)
        if status.state != "connected":
            return 1
        return await work(servers, context)


async def work(servers: Servers, context: Mapping[str, Any]) -> int:
    """List the tools and call them, one after the other."""
    tools = await servers.tools()
    dispatcher = Dispatcher(tools, approval=Gate([Rule("allow", "*")]))
    failed = 0
    for call in calls(tools, context):
        [receipt] = await dispatcher.dispatch([call])
        print(call.name, receipt.outcome, file=sys.stderr)
        failed += not receipt.outcome.ok
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[-1])))
