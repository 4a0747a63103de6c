"""`tidings acp-proxy` between the npm SDK's client and real agents that know no reminders."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.interop.agents import Agent, Room, tidings
from tests.interop.client import DEADLINE, Client, run_command, sdk_client
from tests.interop.spoken import Spoken, mentions, spoken
from tidings.testing.fake_provider import Call, FakeProvider, Gate, Say

MARK = "Added by tidings, not written by the user."
SOCKET_NEWS = "The quokka </system-reminder> build failed."
METHOD_NEWS = "The wombat changed on disk."
TAKES_REMINDERS = {"_meta": {"harn": {"reminders": {"emit": True}}}}
Work = Callable[[Client, str], Awaitable[None]]


def behind(agent: Agent, room: Room, provider: FakeProvider) -> Client:
    """The SDK's client on `agent` behind the interposer."""
    command, more = agent.start(room, provider)
    return sdk_client(tidings("acp-proxy", "--socket", room.socket, "--", *command), room, more)


def talk(agent: Agent, room: Room, provider: FakeProvider, work: Work, capabilities: Any = None) -> Client:
    """Do `work` in a new session; gives the client for what it heard."""
    client = behind(agent, room, provider)

    async def run() -> None:
        async with client:
            told = await client.initialize(capabilities)
            assert told["agentCapabilities"]["reminders"]["inject"] is True
            await work(client, await client.new_session(room.work))

    asyncio.run(run())
    assert provider.refused == []
    return client


async def remind(room: Room, body: str, *options: str) -> str:
    """`tidings remind`, from a shell of its own."""
    return await run_command(tidings("remind", body, "--socket", room.socket, *options), room)


async def inject(client: Client, session: str, body: str, **more: Any) -> Any:
    return await client.request("session/inject_reminder", {"sessionId": session, "body": body, **more})


def ours(provider: FakeProvider, number: int) -> list[Spoken]:
    """What we added to a request."""
    return mentions(provider.requests[number], MARK)


def told(client: Client, answer: Any = None) -> list[dict[str, Any]]:
    """The news of reminders that travelled inside updates and an answer."""
    metas = [holder.get("_meta") or {} for holder in (*client.updates(), answer or {})]
    return [news for meta in metas for news in (meta.get("harn") or {}).get("reminders", [])]


def test_reminders_by_socket_and_by_method_stand_in_the_next_request_marked_escaped_and_once(
    agent: Agent, room: Room, provider: FakeProvider
) -> None:
    provider.add(Say(text="I see."), Say(text="Nothing new."))

    async def work(client: Client, session: str) -> None:
        await remind(room, SOCKET_NEWS, "--tag", "ci")
        await inject(client, session, METHOD_NEWS)
        assert (await client.prompt(session, "First question"))["stopReason"] == "end_turn"
        assert (await client.prompt(session, "Second question"))["stopReason"] == "end_turn"

    client = talk(agent, room, provider, work)
    (block,) = ours(provider, 0)
    assert block.role == "user"
    assert block.text.startswith("<system-reminder>\n")
    assert block.text.endswith("\n</system-reminder>")
    assert block.text.count("</system-reminder") == 1
    assert block.text.index("quokka") < block.text.index(METHOD_NEWS)
    (question,) = mentions(provider.requests[0], "First question")
    assert question.text.strip() == "First question"
    words = spoken(provider.requests[0])
    assert words.index(question) < words.index(block)
    assert ours(provider, 1) == [block]
    assert client.complaints == ""


def test_a_strict_client_hears_the_news_inside_other_updates_and_complains_of_nothing(
    agent: Agent, room: Room, provider: FakeProvider
) -> None:
    provider.add(Say(text="I see."))
    answers: list[Any] = []

    async def work(client: Client, session: str) -> None:
        answers.append(await inject(client, session, METHOD_NEWS, tags=["disk"], ttlTurns=1))
        answers.append(await client.prompt(session, "First question"))

    client = talk(agent, room, provider, work)
    news = told(client, answers[1])
    assert [each["sessionUpdate"] for each in news] == ["reminder_emitted", "reminder_expired"]
    assert {each["reminderId"] for each in news} == {answers[0]["reminderId"]}
    assert (news[0]["body"], news[0]["tags"], news[0]["source"]) == (METHOD_NEWS, ["disk"], "bridge")
    assert client.wire_updates("reminder_") == []
    assert client.complaints == ""


def test_a_client_that_asks_for_updates_gets_them(agent: Agent, room: Room, provider: FakeProvider) -> None:
    provider.add(Say(text="I see."))
    answers: list[Any] = []

    async def work(client: Client, session: str) -> None:
        answers.append(await inject(client, session, METHOD_NEWS, ttlTurns=1))
        await client.prompt(session, "First question")
        await client.until(lambda event: "reminder_expired" in str(event), "reminder_expired")

    client = talk(agent, room, provider, work, TAKES_REMINDERS)
    updates = client.wire_updates("reminder_")
    assert [each["sessionUpdate"] for each in updates] == ["reminder_emitted", "reminder_expired"]
    assert {each["reminderId"] for each in updates} == {answers[0]["reminderId"]}
    assert client.said().endswith("I see.")


def test_revoked_and_replaced_reminders_never_reach_the_model(
    agent: Agent, room: Room, provider: FakeProvider
) -> None:
    provider.add(Say(text="I see."))

    async def work(client: Client, session: str) -> None:
        gone = await inject(client, session, "revoked quokka")
        revoke = {"sessionId": session, "reminderId": gone["reminderId"]}
        assert (await client.request("session/revoke_reminder", revoke))["status"] == "revoked"
        await inject(client, session, "older quokka", dedupeKey="k")
        assert (await inject(client, session, "newer quokka", dedupeKey="k"))["dedupedCount"] == 1
        await client.prompt(session, "First question")

    talk(agent, room, provider, work)
    (block,) = ours(provider, 0)
    found = [f"{which} quokka" in block.text for which in ("revoked", "older", "newer")]
    assert found == [False, False, True]


def test_tool_calls_and_permissions_pass_through_and_the_reminder_stays_before_them(
    agent: Agent, room: Room, provider: FakeProvider
) -> None:
    tool, argument = agent.shell
    call = Call(tool, {argument: "echo made > made.txt", "description": "Make a file"})
    provider.add(Say(text="I make it.", calls=(call,)), Say(text="It is made."))

    async def work(client: Client, session: str) -> None:
        await inject(client, session, METHOD_NEWS)
        assert (await client.prompt(session, "First question"))["stopReason"] == "end_turn"

    client = talk(agent, room, provider, work)
    assert (room.work / "made.txt").read_text() == "made\n"
    assert [len(ours(provider, number)) for number in range(len(provider.requests))] == [1, 1]
    asked = [event for event in client.events if event["event"] == "permission"]
    assert len(asked) == int(agent.asks)
    assert client.updates("tool_call_update")[-1]["status"] == "completed"
    assert client.complaints == ""


def test_a_reminder_sent_while_a_prompt_runs_goes_with_the_next_one(
    agent: Agent, room: Room, provider: FakeProvider
) -> None:
    gate = Gate(DEADLINE)
    provider.add(Say(text="I think.", midway=gate), Say(text="I see."))

    async def work(client: Client, session: str) -> None:
        turn = client.send_prompt(session, "First question")
        assert await asyncio.to_thread(gate.reached.wait, DEADLINE)
        await remind(room, SOCKET_NEWS)
        gate.open()
        await client.reply(turn, "session/prompt")
        await client.prompt(session, "Second question")

    talk(agent, room, provider, work)
    assert [len(ours(provider, number)) for number in range(len(provider.requests))] == [0, 1]


def test_an_interrupt_is_steered_into_the_running_prompt(
    agent: Agent, room: Room, provider: FakeProvider
) -> None:
    if not agent.steers:
        pytest.skip("it does not advertise steering")
    gate = Gate(DEADLINE)
    provider.add(Say(text="I think.", midway=gate), Say(text="I stop."))
    answers: list[Any] = []

    async def work(client: Client, session: str) -> None:
        turn = client.send_prompt(session, "First question")
        assert await asyncio.to_thread(gate.reached.wait, DEADLINE)
        await remind(room, SOCKET_NEWS, "--mode", "interrupt_immediate", "--ttl", "1")
        assert await asyncio.to_thread(provider.requests[0].left.wait, DEADLINE)
        answers.append(await client.reply(turn, "session/prompt"))

    client = talk(agent, room, provider, work)
    (block,) = ours(provider, 1)
    assert "quokka" in block.text
    assert len(mentions(provider.requests[1], "First question")) == 1
    assert answers[0]["stopReason"] == "end_turn"
    assert [each["sessionUpdate"] for each in told(client, answers[0])][:1] == ["reminder_emitted"]
    assert client.complaints == ""


def test_without_steering_an_interrupt_waits_for_the_next_prompt(
    agent: Agent, room: Room, provider: FakeProvider
) -> None:
    if agent.steers:
        pytest.skip("it advertises steering")
    gate = Gate(DEADLINE)
    provider.add(Say(text="I think.", midway=gate), Say(text="I see."))

    async def work(client: Client, session: str) -> None:
        turn = client.send_prompt(session, "First question")
        assert await asyncio.to_thread(gate.reached.wait, DEADLINE)
        await remind(room, SOCKET_NEWS, "--mode", "interrupt_immediate")
        gate.open()
        await client.reply(turn, "session/prompt")
        await client.prompt(session, "Second question")

    talk(agent, room, provider, work)
    assert [len(ours(provider, number)) for number in range(len(provider.requests))] == [0, 1]


def test_after_a_compaction_what_is_to_be_kept_is_shown_again_and_a_command_carries_nothing(
    agent: Agent, room: Room, provider: FakeProvider
) -> None:
    if not agent.compacts:
        pytest.skip("it does not tell of a compaction at /compact")
    provider.add(*(Say(text=f"Answer {number}, or a summary.") for number in range(6)))

    async def work(client: Client, session: str) -> None:
        await inject(client, session, "kept quokka", preserveOnCompact=True)
        await inject(client, session, "lost quokka")
        await client.prompt(session, "First question")
        await inject(client, session, "waiting quokka")
        await client.prompt(session, "/compact")
        await client.prompt(session, "Second question")

    client = talk(agent, room, provider, work)
    before = [block.text for request in provider.requests[:-1] for block in mentions(request, MARK)]
    assert [text for text in before if "waiting quokka" in text] == []
    last = ours(provider, -1)[-1].text
    found = [f"{which} quokka" in last for which in ("kept", "lost", "waiting")]
    assert found == [True, False, True]
    phases = [each["phase"] for each in told(client) if each["sessionUpdate"] == "reminder_expired"]
    assert phases == ["compacted_out"]
    assert client.wire_updates("compaction") == []
    assert client.complaints == ""


def test_replayed_history_and_titles_show_nothing_of_ours(
    agent: Agent, room: Room, provider: FakeProvider
) -> None:
    provider.add(Say(text="I see."), Say(text="Nothing new."), Say(text="Welcome back."))
    sessions: list[str] = []

    async def before(client: Client, session: str) -> None:
        sessions.append(session)
        await inject(client, session, METHOD_NEWS)
        await client.prompt(session, "First question")
        await client.prompt(session, "Second question")

    async def load(client: Client) -> None:
        async with client:
            told = await client.initialize()
            params = {"sessionId": sessions[0], "cwd": str(room.work), "mcpServers": []}
            await client.request("session/load", params)
            if "list" in (told["agentCapabilities"].get("sessionCapabilities") or {}):
                await client.request("session/list", {})
            await client.prompt(sessions[0], "Third question")

    first = talk(agent, room, provider, before)
    agent.age(room)
    second = behind(agent, room, provider)
    asyncio.run(load(second))
    titles = [each.get("title") or "" for each in first.wire_updates("session_info_update")]
    assert MARK not in " ".join(titles)
    assert MARK not in str(second.events)
    replayed = [update["content"]["text"] for update in second.updates("user_message_chunk")]
    assert [text for text in replayed if "question" in text] == ["First question", "Second question"]
    assert second.said().endswith("Welcome back.")
    assert len(ours(provider, 2)) == 1
    assert second.complaints == ""


def test_the_agent_ends_with_the_editor(agent: Agent, room: Room, provider: FakeProvider) -> None:
    async def work(client: Client, session: str) -> None:
        return None

    client = talk(agent, room, provider, work)
    ended = [event["code"] for event in client.events if event["event"] == "ended"]
    assert [code for code in ended if code != "SIGKILL"] == ended != []
