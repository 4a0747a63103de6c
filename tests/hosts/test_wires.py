"""The drain over HTTP and over the socket of a whole hub: the same answers, and no harm from bad input."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.hosts.desks import news
from tests.hosts.events import WORKSPACE, payload
from tests.hub.desks import DEADLINE
from tests.hub.running import Client, place_in, running, running_in
from tidings.bridge.rpc import RpcError
from tidings.cli.sessions import cannot
from tidings.core.reminder import Payload
from tidings.hosts.happening import HOSTS, Host
from tidings.hosts.reach import REACH
from tidings.hub.client import ask
from tidings.hub.hosting import hosted

Hook: TypeAlias = Callable[[Host, Payload], Awaitable[Payload]]
CARRIERS: dict[Host, str] = {
    "claude-code": "PostToolBatch",
    "codex": "PostToolUse",
    "gemini": "BeforeModel",
    "opencode": "tool.execute.after",
}


def over_http(client: Client, _: str) -> Hook:
    async def hook(host: Host, event: Payload) -> Payload:
        answer = await client.ask("POST", f"/v1/hosts/{host}/hook", event)
        assert answer.status == 200
        assert isinstance(answer.body, dict)
        return answer.body

    return hook


def over_the_operation(client: Client, _: str) -> Hook:
    async def hook(host: Host, event: Payload) -> Payload:
        answer = await client.ask("POST", "/v1/hosts/drain", {"host": host, "event": event})
        assert answer.status == 200
        assert isinstance(answer.body, dict)
        told = answer.body["answer"]
        assert isinstance(told, dict)
        return told

    return hook


def over_the_socket(_: Client, socket: str) -> Hook:
    async def hook(host: Host, event: Payload) -> Payload:
        answer = await ask(socket, "hub/drain", {"host": host, "event": event})
        told = answer["answer"]
        assert isinstance(told, dict)
        return told

    return hook


@pytest.mark.parametrize("wire", [over_http, over_the_operation, over_the_socket])
@pytest.mark.parametrize("host", HOSTS)
def test_every_wire_gives_what_waits_once(
    tmp_path: Path, host: Host, wire: Callable[[Client, str], Hook]
) -> None:
    async def script() -> None:
        place = place_in(tmp_path)
        async with asyncio.timeout(DEADLINE), running_in(place) as client:
            hook = wire(client, place.socket)
            await client.ask(
                "POST",
                "/v1/reminders",
                {"body": "The build is red.", "to": {"workspace": WORKSPACE}, "ttlTurns": 1},
            )
            told = [news(await hook(host, payload(host, CARRIERS[host]))) for _ in range(2)]
            assert "The build is red." in told[0]
            if host != "gemini":
                assert told[1] == ""

    asyncio.run(script())


def test_bad_calls_are_refused_and_change_nothing(tmp_path: Path) -> None:
    async def script() -> None:
        async with asyncio.timeout(DEADLINE), running(tmp_path) as client:
            hook = "/v1/hosts/claude-code/hook"
            event = payload("claude-code", "Stop")
            cases = [
                await client.ask("POST", "/v1/hosts/emacs/hook", event),
                await client.ask("POST", hook, event, headers={"Authorization": "Bearer changed"}),
                await client.ask("POST", hook, raw=b"{broken"),
                await client.ask("POST", hook, raw=b"[]"),
                await client.ask("POST", hook, raw=b'"' + b"x" * (17 * 1024 * 1024) + b'"'),
                await client.ask("GET", hook),
                await client.ask("POST", "/v1/hosts/drain", {"host": "emacs", "event": {}}),
                await client.ask("POST", "/v1/hosts/drain", {"host": "codex", "event": []}),
            ]
            assert [case.status for case in cases] == [404, 401, 400, 400, 413, 405, 400, 400]
            listed = await client.ask("GET", "/v1/sessions")
            assert listed.body == {"sessions": []}

    asyncio.run(script())


def test_a_payload_of_several_megabytes_is_read(tmp_path: Path) -> None:
    async def script() -> None:
        async with asyncio.timeout(DEADLINE), running(tmp_path) as client:
            calls = [{"tool_use_id": "a", "tool_response": "x" * 4 * 1024 * 1024}]
            event = payload("claude-code", "PostToolBatch", tool_calls=calls)
            answer = await client.ask("POST", "/v1/hosts/claude-code/hook", event)
            assert (answer.status, answer.body) == (200, {})

    asyncio.run(script())


def test_the_socket_refuses_a_host_that_is_not_known(tmp_path: Path) -> None:
    async def script() -> None:
        place = place_in(tmp_path)
        async with asyncio.timeout(DEADLINE), running_in(place):
            with pytest.raises(RpcError, match="host"):
                await ask(place.socket, "hub/drain", {"host": "emacs", "event": {}})

    asyncio.run(script())


def test_a_listed_session_says_what_its_host_can_do(tmp_path: Path) -> None:
    async def script() -> None:
        async with asyncio.timeout(DEADLINE), running(tmp_path) as client:
            await client.ask("POST", "/v1/hosts/gemini/hook", payload("gemini", "SessionStart"))
            listed = await client.ask("GET", "/v1/sessions")
            assert isinstance(listed.body, dict)
            [row] = listed.body["sessions"]
            assert (row["sessionId"], row["tags"], row["delivery"]) == ("gemini:s1", ["gemini"], "request")
            assert row["capabilities"]["reach"] == REACH["gemini"].abilities()
            assert cannot(row) == "wake when idle, proof that it was read in"
            assert cannot({"capabilities": {}}) is None

    asyncio.run(script())


def test_every_record_of_hosts_stands_on_their_page() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "hosts.md").read_text()
    kinds = [value for value in vars(hosted).values() if str(value).startswith("hub.host.")]
    assert [kind for kind in kinds if f"| `{kind}` |" not in page] == []
