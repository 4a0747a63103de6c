"""Starting an agent, agreeing with it, and stopping it."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest

from tests.acp.host.running import AGENT, META, NONE, RFC, calls, kinds, play, sent, talk
from tidings.acp import (
    AgentAnswerError,
    AgentDeadlineError,
    AgentDiedError,
    AgentRefusedError,
    AgentStartError,
    Capabilities,
    Client,
    Deadlines,
    Host,
    HostClosedError,
    NotAdvertisedError,
    Session,
    Update,
)
from tidings.errors import CallerError
from tidings.version import __version__


async def nothing(host: Host) -> None:
    """A scene in which nothing happens."""


def test_the_host_says_who_it_is_and_that_it_takes_reminder_updates(tmp_path: Path) -> None:
    play(tmp_path, nothing)
    assert sent(tmp_path) == [
        {
            "jsonrpc": "2.0",
            "id": 0,
            "method": "initialize",
            "params": {
                "protocolVersion": 1,
                "clientCapabilities": {"auth": {}, "_meta": {"harn": {"reminders": {"emit": True}}}},
                "clientInfo": {"name": "tidings", "version": __version__},
            },
        }
    ]


def test_files_are_offered_only_when_the_caller_gives_functions_for_them(tmp_path: Path) -> None:
    play(tmp_path, nothing, client=Client(name="ed", version="9", read_file=lambda asked: "text"))
    (params,) = calls(tmp_path, "initialize")
    assert params["clientCapabilities"]["fs"] == {"readTextFile": True}
    assert params["clientInfo"] == {"name": "ed", "version": "9"}


@pytest.mark.parametrize(
    ("capabilities", "expected"),
    [
        (NONE, None),
        (None, None),
        ({"reminders": "yes"}, None),
        (RFC, Capabilities(inject=True, emit=True, methods=("session/inject_reminder",))),
        ({"reminders": {"inject": "yes"}}, Capabilities(methods=("session/inject_reminder",))),
        (
            META,
            Capabilities(
                inject=True,
                emit=True,
                propagate=("all", "session", "none"),
                role_hints=("system", "developer", "user_block", "ephemeral_cache"),
                methods=(
                    "_session/inject",
                    "_session/inject_reminder",
                    "_session/pending_injections",
                    "_session/revoke_reminder",
                    "_session/clear_reminders",
                ),
            ),
        ),
    ],
)
def test_support_is_read_from_what_the_agent_says_and_nothing_is_called_to_find_out(
    tmp_path: Path, capabilities: object, expected: Capabilities | None
) -> None:
    async def scene(host: Host) -> Capabilities | None:
        return host.reminders

    assert play(tmp_path, scene, capabilities) == expected
    assert [message["method"] for message in sent(tmp_path)] == ["initialize"]


def test_a_new_session_hands_over_what_came_before_it_was_held(tmp_path: Path) -> None:
    async def scene(session: Session) -> tuple[str, object, tuple[Update, ...]]:
        return session.id, session.details, session.history

    first = Update(
        "s1",
        "available_commands_update",
        {"sessionUpdate": "available_commands_update", "availableCommands": []},
    )
    assert talk(tmp_path, scene) == ("s1", {"sessionId": "s1"}, (first,))
    assert calls(tmp_path, "session/new") == [{"cwd": str(tmp_path), "mcpServers": []}]


def test_a_relative_folder_is_sent_as_an_absolute_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    async def scene(host: Host) -> None:
        await host.new_session("sub")

    play(tmp_path, scene)
    assert calls(tmp_path, "session/new")[0]["cwd"] == str(tmp_path / "sub")


def test_a_loaded_session_has_its_past(tmp_path: Path) -> None:
    async def scene(host: Host) -> list[tuple[str, str]]:
        session = await host.load_session("s1", tmp_path)
        return [(update.kind, update.text) for update in session.history]

    assert play(tmp_path, scene, RFC) == [("user_message_chunk", "what was said")]


def test_a_session_that_the_agent_does_not_know_is_its_refusal(tmp_path: Path) -> None:
    async def scene(host: Host) -> tuple[int, object]:
        with pytest.raises(AgentRefusedError, match="session/load: the agent refused") as caught:
            await host.load_session("s9", tmp_path)
        return caught.value.code, caught.value.data

    assert play(tmp_path, scene, RFC) == (-32002, {"sessionId": "s9"})


def test_loading_is_not_tried_on_an_agent_that_does_not_offer_it(tmp_path: Path) -> None:
    async def scene(host: Host) -> None:
        with pytest.raises(NotAdvertisedError, match="does not advertise `loadSession`"):
            await host.load_session("s1", tmp_path)

    play(tmp_path, scene, META)
    assert calls(tmp_path, "session/load") == []


def test_logging_in_names_the_method(tmp_path: Path) -> None:
    async def scene(host: Host) -> None:
        await host.authenticate("api-key")

    play(tmp_path, scene)
    assert calls(tmp_path, "authenticate") == [{"methodId": "api-key"}]


def test_wrong_mcp_servers_are_the_callers_fault(tmp_path: Path) -> None:
    async def scene(host: Host) -> None:
        with pytest.raises(CallerError, match="as ACP describes them; got"):
            await host.new_session(tmp_path, mcp_servers=[{"name": 3}])

    play(tmp_path, scene)
    assert calls(tmp_path, "session/new") == []


@pytest.mark.parametrize("command", ["agent --acp", [], ["a", 3]])
def test_a_command_that_is_no_list_of_words_is_refused(command: object) -> None:
    async def started() -> None:
        async with Host.start(command):  # type: ignore[arg-type]
            raise AssertionError

    with pytest.raises(CallerError, match="`command` must be a list of words"):
        asyncio.run(started())


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    async def started() -> None:
        async with Host.start([str(tmp_path / "no-such-agent")]):
            raise AssertionError

    with pytest.raises(AgentStartError, match=r"no-such-agent.* cannot be started"):
        asyncio.run(started())


def test_an_agent_that_dies_at_once_tells_its_code_and_its_last_words(tmp_path: Path) -> None:
    with pytest.raises(AgentDiedError) as caught:
        play(tmp_path, nothing, start="die")
    assert (caught.value.exit_code, caught.value.stderr) == (3, "no key in the environment")
    assert str(caught.value) == (
        "initialize: the agent exited with code 3; its last words: no key in the environment"
    )


def test_an_agent_that_never_answers_is_given_up_and_stopped(tmp_path: Path) -> None:
    with pytest.raises(AgentDeadlineError, match=r"initialize: no answer within 0\.2 seconds"):
        play(tmp_path, nothing, start="silent", deadlines=Deadlines(start=0.2))


def test_a_refused_initialize_and_one_without_sense_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(AgentRefusedError, match="refused with -32000: log in first"):
        play(tmp_path, nothing, start="refuse")
    with pytest.raises(AgentAnswerError, match="initialize: expected what the protocol allows"):
        play(tmp_path, nothing, start="null")
    with pytest.raises(AgentStartError, match="speaks version 2 of ACP"):
        play(tmp_path, nothing, start="version")


def test_lines_that_are_no_messages_are_noted_and_passed_over(tmp_path: Path) -> None:
    async def scene(host: Host) -> list[str]:
        return kinds(host)

    assert play(tmp_path, scene, start="garbage") == ["unreadable_line", "stray_answer", "stray_answer"]


def test_a_line_that_is_too_long_is_skipped_and_noted(tmp_path: Path) -> None:
    async def scene(host: Host) -> list[str]:
        return [note.text for note in host.notes]

    size = 17 * 1024 * 1024
    assert play(tmp_path, scene, start="chatty") == [
        f"a line of {size} bytes was skipped; {16 * 1024 * 1024} are allowed"
    ]


def test_after_the_block_the_agent_is_gone_and_the_session_says_so(tmp_path: Path) -> None:
    async def whole() -> int | None:
        async with asyncio.timeout(30):
            async with Host.start([sys.executable, AGENT, json.dumps(META)]) as host:
                session = await host.new_session(tmp_path)
            with pytest.raises(HostClosedError, match="start another one"):
                await session.prompt("say hi")
            with pytest.raises(HostClosedError, match="start another one"):
                await session.remind("late")
        return host.exit_code

    assert asyncio.run(whole()) == 0


def test_an_agent_that_ignores_its_end_is_killed(tmp_path: Path) -> None:
    async def whole() -> tuple[int, int | None]:
        async with asyncio.timeout(30):
            quick = Deadlines(stop=0.2, prompt=30, cancel=0.1)
            async with Host.start([sys.executable, AGENT, json.dumps(META)], deadlines=quick) as host:
                session = await host.new_session(tmp_path)
                with session.updates() as updates:
                    working = asyncio.create_task(session.prompt("stubborn"))
                    said = (await anext(updates)).text
                working.cancel()
                await asyncio.gather(working, return_exceptions=True)
        return int(said.removeprefix("pid ")), host.exit_code

    pid, code = asyncio.run(whole())
    assert code == -9
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_an_error_in_the_block_stops_the_agent_too(tmp_path: Path) -> None:
    async def scene(host: Host) -> None:
        scene.host = host  # type: ignore[attr-defined]
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        play(tmp_path, scene)
    assert scene.host.exit_code == 0  # type: ignore[attr-defined]
