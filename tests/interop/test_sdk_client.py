"""The npm SDK's client, which checks every message, talks to `tidings acp`, whose model is the fake one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import jsonschema
import msgspec
import pytest

from tests.interop.agents import Room, ours
from tests.interop.client import DEADLINE, Client, Refused, sdk_client
from tests.interop.install import installed
from tests.interop.spoken import mentions
from tidings.testing.fake_provider import Call, FakeProvider, Gate, Say

pytestmark = pytest.mark.usefixtures("editor")

NEWS = "The quokka build failed."
TAKES_REMINDERS = {"_meta": {"harn": {"reminders": {"emit": True}}}}
ALIASES = (
    "session/inject_reminder",
    "session/remind",
    "_session/inject_reminder",
    "_harn/session/inject_reminder",
)
WRITE = Say(text="I write.", calls=(Call("write_file", {"path": "a.txt", "content": "hello"}),))
Work = Callable[[Client, str], Awaitable[None]]


def talk(room: Room, provider: FakeProvider, work: Work, capabilities: Any = None) -> Client:
    """Do `work` in a new session; gives the client for what it heard."""
    command, more = ours(room, provider)
    client = sdk_client(command, room, more)

    async def run() -> None:
        async with client:
            await client.initialize(capabilities)
            await work(client, await client.new_session(room.work))

    asyncio.run(run())
    assert [event["text"] for event in client.events if event["event"] == "agent"] == []
    assert provider.refused == []
    return client


def carried(client: Client) -> list[dict[str, Any]]:
    """The news of reminders inside other updates."""
    metas = [update.get("_meta") or {} for update in client.updates()]
    return [news for meta in metas for news in (meta.get("harn") or {}).get("reminders", [])]


def test_a_turn_streams_asks_before_a_change_and_shows_the_tool_call(
    room: Room, provider: FakeProvider
) -> None:
    provider.add(WRITE, Say(text="It is written now."))
    ends: list[Any] = []

    async def work(client: Client, session: str) -> None:
        ends.append(await client.prompt(session, "Write hello"))

    client = talk(room, provider, work)
    assert ends[0]["stopReason"] == "end_turn"
    assert client.said() == "I write.It is written now."
    assert len(client.updates("agent_message_chunk")) > 2
    asked = [event["params"]["toolCall"] for event in client.events if event["event"] == "permission"]
    (shown,) = client.updates("tool_call")
    assert [call["toolCallId"] for call in asked] == [shown["toolCallId"]]
    assert client.updates("tool_call_update")[-1]["status"] == "completed"
    assert (room.work / "a.txt").read_text() == "hello"
    assert client.complaints == ""


def test_a_reminder_reaches_the_next_request_and_its_news_travels_inside_other_updates(
    room: Room, provider: FakeProvider
) -> None:
    provider.add(Say(text="I see."))
    answers: list[Any] = []

    async def work(client: Client, session: str) -> None:
        params = {"sessionId": session, "body": NEWS, "tags": ["ci"], "ttlTurns": 1}
        answers.append(await client.request("session/inject_reminder", params))
        await client.prompt(session, "What is new?")

    client = talk(room, provider, work)
    assert answers == [{"reminderId": answers[0]["reminderId"], "dedupedCount": 0}]
    assert len(mentions(provider.requests[0], NEWS)) == 1
    told = [news for news in carried(client) if news["reminderId"] == answers[0]["reminderId"]]
    assert [news["sessionUpdate"] for news in told] == ["reminder_emitted", "reminder_expired"]
    assert (told[0]["body"], told[0]["tags"], told[0]["source"]) == (NEWS, ["ci"], "bridge")
    assert client.wire_updates("reminder_") == []
    assert client.complaints == ""


def test_every_name_of_the_method_is_understood_as_request_and_as_notification(
    room: Room, provider: FakeProvider
) -> None:
    provider.add(Say(text="I see."))
    pending: list[Any] = []

    async def work(client: Client, session: str) -> None:
        for name in ALIASES:
            await client.request(name, {"sessionId": session, "body": f"{NEWS} by request {name}"})
            client.notify(name, {"sessionId": session, "body": f"{NEWS} by notification {name}"})
        pending.append(await client.request("session/pending_injections", {"sessionId": session}))
        await client.prompt(session, "What is new?")

    client = talk(room, provider, work)
    assert pending[0]["pendingCount"] == 2 * len(ALIASES)
    for name in ALIASES:
        assert len(mentions(provider.requests[0], f"by request {name}")) == 1
        assert len(mentions(provider.requests[0], f"by notification {name}")) == 1
    assert client.complaints == ""


def test_a_reminder_sent_while_a_prompt_runs_is_in_the_next_request_of_the_same_turn(
    room: Room, provider: FakeProvider
) -> None:
    gate = Gate(DEADLINE)
    provider.add(msgspec.structs.replace(WRITE, before=gate), Say(text="I see."))

    async def work(client: Client, session: str) -> None:
        turn = client.send_prompt(session, "Write hello")
        assert await asyncio.to_thread(gate.reached.wait, DEADLINE)
        await client.request("session/inject_reminder", {"sessionId": session, "body": NEWS})
        gate.open()
        assert (await client.reply(turn, "session/prompt"))["stopReason"] == "end_turn"

    client = talk(room, provider, work)
    assert [len(mentions(request, NEWS)) for request in provider.requests] == [0, 1]
    assert client.complaints == ""


def test_revoked_and_replaced_reminders_never_reach_the_model(room: Room, provider: FakeProvider) -> None:
    provider.add(Say(text="I see."))

    async def work(client: Client, session: str) -> None:
        async def remind(body: str, **more: str) -> Any:
            return await client.request(
                "session/inject_reminder", {"sessionId": session, "body": body, **more}
            )

        gone = await remind("revoked quokka")
        revoke = {"sessionId": session, "reminderId": gone["reminderId"]}
        assert (await client.request("session/revoke_reminder", revoke))["status"] == "revoked"
        await remind("older quokka", dedupeKey="k")
        assert (await remind("newer quokka", dedupeKey="k"))["dedupedCount"] == 1
        await client.prompt(session, "What is new?")

    talk(room, provider, work)
    found = [
        len(mentions(provider.requests[0], f"{which} quokka")) for which in ("revoked", "older", "newer")
    ]
    assert found == [0, 0, 1]


def test_a_client_that_asks_for_updates_gets_them_and_this_sdk_drops_what_it_does_not_know(
    room: Room, provider: FakeProvider
) -> None:
    provider.add(Say(text="I see."), Say(text="Still here."))

    answers: list[Any] = []

    async def work(client: Client, session: str) -> None:
        params = {"sessionId": session, "body": NEWS, "ttlTurns": 1}
        answers.append(await client.request("session/inject_reminder", params))
        await client.prompt(session, "What is new?")
        await client.prompt(session, "And now?")

    client = talk(room, provider, work, TAKES_REMINDERS)
    about = [
        each for each in client.wire_updates("reminder_") if each["reminderId"] == answers[0]["reminderId"]
    ]
    assert [each["sessionUpdate"] for each in about] == ["reminder_emitted", "reminder_expired"]
    assert (about[0]["body"], about[1]["phase"]) == (NEWS, "ttl_expired")
    assert carried(client) == []
    assert client.said() == "I see.Still here."
    assert [len(mentions(request, NEWS)) for request in provider.requests] == [1, 0]
    dropped = [line for line in client.complaints.splitlines() if "session/update" in line]
    assert len(dropped) == len(client.wire_updates("reminder_"))


def test_bad_calls_are_refused_and_the_connection_goes_on(room: Room, provider: FakeProvider) -> None:
    provider.add(Say(text="Still here."))
    refusals: list[tuple[int, Any]] = []

    async def work(client: Client, session: str) -> None:
        for params in ({"sessionId": "nobody", "body": NEWS}, {"sessionId": session, "body": 7}):
            with pytest.raises(Refused) as refused:
                await client.request("session/inject_reminder", params)
            refusals.append((refused.value.code, refused.value.data))
        await client.prompt(session, "Are you there?")

    client = talk(room, provider, work)
    assert [code for code, _ in refusals] == [-32002, -32602]
    assert refusals[1][1]["code"].startswith("HARN-RMD-")
    assert client.said() == "Still here."


def test_a_loaded_session_replays_its_words_and_no_reminder(room: Room, provider: FakeProvider) -> None:
    provider.add(Say(text="I see."), Say(text="Welcome back."))
    sessions: list[str] = []

    async def before(client: Client, session: str) -> None:
        sessions.append(session)
        await client.request("session/inject_reminder", {"sessionId": session, "body": NEWS, "ttlTurns": 1})
        await client.prompt(session, "What is new?")

    async def after(client: Client, _: str) -> None:
        load = {"sessionId": sessions[0], "cwd": str(room.work), "mcpServers": []}
        await client.request("session/load", load)
        await client.prompt(sessions[0], "Go on")

    talk(room, provider, before)
    client = talk(room, provider, after)
    replayed = [update["content"]["text"] for update in client.updates("user_message_chunk")]
    assert "".join(replayed) == "What is new?"
    assert client.said() == "I see.Welcome back."
    assert NEWS not in str(client.events)
    assert client.complaints == ""


def test_cancel_ends_the_turn_and_leaves_the_model(room: Room, provider: FakeProvider) -> None:
    gate = Gate(DEADLINE)
    provider.add(Say(text="Long answer", midway=gate))

    async def work(client: Client, session: str) -> None:
        turn = client.send_prompt(session, "Talk")
        assert await asyncio.to_thread(gate.reached.wait, DEADLINE)
        client.notify("session/cancel", {"sessionId": session})
        assert (await client.reply(turn, "session/prompt"))["stopReason"] == "cancelled"
        assert await asyncio.to_thread(provider.requests[0].left.wait, DEADLINE)

    talk(room, provider, work)


def test_every_line_is_valid_against_the_schema_that_the_sdk_ships(
    room: Room, provider: FakeProvider
) -> None:
    provider.add(WRITE, Say(text="It is written now."))

    async def work(client: Client, session: str) -> None:
        await client.request("session/inject_reminder", {"sessionId": session, "body": NEWS})
        await client.prompt(session, "Write hello")
        await client.request("session/list", {})

    client = talk(room, provider, work)
    path = installed()["@agentclientprotocol/sdk"].path / "schema" / "v1" / "schema.json"
    schema = msgspec.json.decode(path.read_bytes())
    messages = [event["message"] for event in client.events if event["event"] == "wire"]
    checked = [name for message in messages if (name := check(schema, message)) is not None]
    assert {"SessionNotification", "RequestPermissionRequest", "AgentResponse"} == set(checked)


def check(schema: dict[str, Any], message: dict[str, Any]) -> str | None:
    """Check a message of the agent; gives the name of what it is."""
    names = {
        "session/update": "SessionNotification",
        "session/request_permission": "RequestPermissionRequest",
    }
    method = message.get("method")
    name, value = (names[method], message["params"]) if method else ("AgentResponse", message)
    jsonschema.validate(value, {**schema, "anyOf": [{"$ref": f"#/$defs/{name}"}]})
    return name
