"""Prompting: what comes back, what the agent asks meanwhile, and how a turn is ended."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import pytest

from tests.acp.host.running import AGENT, META, calls, kinds, play, sent, talk
from tidings.acp import (
    AgentAnswerError,
    AgentDeadlineError,
    AgentDiedError,
    AgentRefusedError,
    BusyError,
    Client,
    Deadlines,
    Emitted,
    Host,
    PermissionOption,
    PermissionRequest,
    Prompted,
    ReadFile,
    Session,
    Update,
    WriteFile,
)
from tidings.errors import CallerError

OPTIONS = [
    {"optionId": "yes", "name": "Allow", "kind": "allow_once"},
    {"optionId": "no", "name": "Reject", "kind": "reject_once"},
]
ASKED = {"sessionId": "s1", "toolCall": {"toolCallId": "t1", "title": "rm"}, "options": OPTIONS}


def chunk(text: str) -> Update:
    content = {"type": "text", "text": text}
    return Update("s1", "agent_message_chunk", {"sessionUpdate": "agent_message_chunk", "content": content})


def said(folder: Path, script: str, **options: object) -> object:
    """What the agent says to this script, read as JSON."""

    async def scene(session: Session) -> str:
        return (await session.prompt(script)).text

    return json.loads(talk(folder, scene, **options))


def test_a_prompt_gives_text_stop_reason_and_updates(tmp_path: Path) -> None:
    async def scene(session: Session) -> Prompted:
        return await session.prompt("say Hello,\nsay  world\nstop max_tokens")

    assert talk(tmp_path, scene) == Prompted(
        text="Hello, world", stop_reason="max_tokens", updates=(chunk("Hello,"), chunk(" world"))
    )
    block = {"type": "text", "text": "say Hello,\nsay  world\nstop max_tokens"}
    assert calls(tmp_path, "session/prompt") == [{"sessionId": "s1", "prompt": [block]}]


def test_content_blocks_are_sent_as_they_are(tmp_path: Path) -> None:
    blocks = [
        {"type": "text", "text": "say ok"},
        {"type": "resource_link", "uri": "file:///a.py", "name": "a.py"},
    ]

    async def scene(session: Session) -> str:
        return (await session.prompt(blocks)).text

    assert talk(tmp_path, scene) == "ok"
    assert calls(tmp_path, "session/prompt") == [{"sessionId": "s1", "prompt": blocks}]


@pytest.mark.parametrize("content", ["", "  \n", [], [{"type": "text"}], [{"type": "song", "text": "la"}]])
def test_a_prompt_that_is_none_is_refused_before_it_is_sent(tmp_path: Path, content: object) -> None:
    async def scene(session: Session) -> None:
        with pytest.raises(CallerError):
            await session.prompt(content)  # type: ignore[arg-type]

    talk(tmp_path, scene)
    assert calls(tmp_path, "session/prompt") == []


def test_updates_can_be_followed_while_the_agent_works(tmp_path: Path) -> None:
    async def scene(session: Session) -> list[str]:
        with session.updates() as updates:
            await session.prompt("say one\nsay two")
        return [update.text async for update in updates]

    assert talk(tmp_path, scene) == ["one", "two"]


def test_a_subscriber_that_is_too_slow_loses_the_oldest_and_it_is_noted(tmp_path: Path) -> None:
    async def scene(host: Host) -> tuple[int, int, list[str]]:
        session = await host.new_session(tmp_path)
        with session.updates() as updates:
            await session.prompt("many 1010\nsay last")
        left = [update.text async for update in updates]
        return updates.dropped, len(left), [left[-1], *kinds(host)]

    assert play(tmp_path, scene) == (11, 1000, ["last", "subscriber_lagged"])


def test_a_subscription_ends_when_the_host_stops(tmp_path: Path) -> None:
    async def follow(session: Session, listening: asyncio.Event) -> list[str]:
        with session.updates() as updates:
            listening.set()
            return [update.text async for update in updates]

    async def whole() -> tuple[list[str], list[str]]:
        async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
            async with Host.start([sys.executable, AGENT, json.dumps(META)]) as host:
                session, listening = await host.new_session(tmp_path), asyncio.Event()
                early = tasks.create_task(follow(session, listening))
                await listening.wait()
                await session.prompt("say hi")
            late = tasks.create_task(follow(session, listening))
        return early.result(), late.result()

    assert asyncio.run(whole()) == (["hi"], [])


def test_kinds_of_updates_that_nobody_knows_pass_through(tmp_path: Path) -> None:
    async def scene(host: Host) -> tuple[list[Update], list[str]]:
        session = await host.new_session(tmp_path)
        answer = await session.prompt('update {"sessionUpdate": "notice", "level": 3}\nsay on')
        return list(answer.updates), kinds(host)

    notice = Update("s1", "notice", {"sessionUpdate": "notice", "level": 3})
    assert play(tmp_path, scene) == ([notice, chunk("on")], [])


def test_updates_without_a_session_or_an_update_are_noted(tmp_path: Path) -> None:
    async def scene(host: Host) -> tuple[str, list[str]]:
        session = await host.new_session(tmp_path)
        script = 'params {"sessionId": 3, "update": {}}\nparams {"sessionId": "s1"}\nsay on'
        return (await session.prompt(script)).text, kinds(host)

    assert play(tmp_path, scene) == ("on", ["unreadable_update", "unreadable_update"])


def test_meta_cannot_move_an_update_to_another_session(tmp_path: Path) -> None:
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "mine"}}
    params = {"sessionId": "s1", "update": update, "_meta": {"session_id": "s2", "sessionId": "s2"}}

    async def scene(session: Session) -> str:
        return (await session.prompt(f"params {json.dumps(params)}")).text

    assert talk(tmp_path, scene) == "mine"


def test_one_prompt_at_a_time(tmp_path: Path) -> None:
    async def scene(session: Session) -> str:
        first = asyncio.create_task(session.prompt("say started\nhang"))
        with session.updates() as updates:
            await anext(updates)
        with pytest.raises(BusyError, match="session 's1' works on a prompt"):
            await session.prompt("say me too")
        await session.cancel()
        return (await first).stop_reason

    assert talk(tmp_path, scene) == "cancelled"
    assert len(calls(tmp_path, "session/prompt")) == 1


def test_the_next_prompt_starts_with_an_empty_turn(tmp_path: Path) -> None:
    async def scene(session: Session) -> tuple[str, str]:
        return (await session.prompt("say one")).text, (await session.prompt("say two")).text

    assert talk(tmp_path, scene) == ("one", "two")


def test_a_prompt_past_its_deadline_is_cancelled_and_the_session_goes_on(tmp_path: Path) -> None:
    async def scene(host: Host) -> tuple[str, list[str]]:
        session = await host.new_session(tmp_path)
        with pytest.raises(AgentDeadlineError, match=r"session/prompt: no answer within 0\.1 seconds"):
            await session.prompt("hang", deadline=0.1)
        return (await session.prompt("say again")).text, kinds(host)

    assert play(tmp_path, scene) == ("again", ["late_answer"])
    assert calls(tmp_path, "session/cancel") == [{"sessionId": "s1"}]


def test_an_agent_that_does_not_heed_the_cancel_keeps_the_session_busy(tmp_path: Path) -> None:
    quick = Deadlines(prompt=0.1, cancel=0.1, stop=0.1)

    async def scene(session: Session) -> None:
        with pytest.raises(AgentDeadlineError):
            await session.prompt("stubborn")
        with pytest.raises(BusyError):
            await session.prompt("say hi")

    talk(tmp_path, scene, deadlines=quick)


def test_a_cancelled_caller_cancels_the_turn(tmp_path: Path) -> None:
    async def scene(session: Session) -> None:
        working = asyncio.create_task(session.prompt("say started\nhang"))
        with session.updates() as updates:
            await anext(updates)
        working.cancel()
        with pytest.raises(asyncio.CancelledError):
            await working

    talk(tmp_path, scene)
    assert calls(tmp_path, "session/cancel") == [{"sessionId": "s1"}]


def test_an_agent_that_dies_in_mid_prompt_tells_code_and_last_words(tmp_path: Path) -> None:
    async def scene(session: Session) -> AgentDiedError:
        with pytest.raises(AgentDiedError) as caught:
            await session.prompt("say half\ndie 9")
        with pytest.raises(AgentDiedError):
            await session.remind("anybody there?")
        return caught.value

    error = talk(tmp_path, scene)
    assert error.exit_code == 9
    assert error.stderr == "\n".join(f"stack line {number}" for number in range(20, 30))


@pytest.mark.parametrize(
    ("script", "code", "words"),
    [
        ("kill", -9, "was ended by signal 9; it wrote nothing to stderr"),
        ("mute", None, "closed its output"),
    ],
)
def test_however_an_agent_ends_nobody_waits_for_it(
    tmp_path: Path, script: str, code: int | None, words: str
) -> None:
    async def scene(session: Session) -> AgentDiedError:
        with pytest.raises(AgentDiedError, match=words) as caught:
            await session.prompt(script)
        return caught.value

    assert talk(tmp_path, scene).exit_code == code


def test_a_child_that_holds_the_output_open_does_not_keep_anybody_waiting(tmp_path: Path) -> None:
    async def scene(session: Session) -> tuple[int, int | None]:
        with session.updates() as updates:
            with pytest.raises(AgentDiedError) as caught:
                await session.prompt("orphan 5")
            return int((await anext(updates)).text), caught.value.exit_code

    orphan, code = talk(tmp_path, scene)
    os.kill(orphan, signal.SIGKILL)
    assert code == 5


def test_a_refused_prompt_carries_the_agents_words(tmp_path: Path) -> None:
    async def scene(session: Session) -> str:
        with pytest.raises(AgentRefusedError, match="refused with -32603: no model") as caught:
            await session.prompt("refuse no model")
        return caught.value.message

    assert talk(tmp_path, scene) == "no model"


@pytest.mark.parametrize(
    "answer",
    [
        '{"id": ID, "result": null}',
        '{"id": ID, "result": {"stopReason": "bored"}}',
        '{"id": ID, "result": []}',
    ],
)
def test_an_answer_without_sense_is_the_agents_fault(tmp_path: Path, answer: str) -> None:
    async def scene(session: Session) -> None:
        with pytest.raises(AgentAnswerError, match="session/prompt: expected what the protocol allows"):
            await session.prompt(f"answer {answer}")

    talk(tmp_path, scene)


@pytest.mark.parametrize("answer", ['{"id": ID}', '{"id": ID, "error": "boom"}', '{"id": ID, "error": {}}'])
def test_an_answer_without_a_result_or_an_error_ends_the_wait(tmp_path: Path, answer: str) -> None:
    async def scene(session: Session) -> int:
        with pytest.raises(AgentRefusedError) as caught:
            await session.prompt(f"answer {answer}")
        return caught.value.code

    assert talk(tmp_path, scene) == -32603


@pytest.mark.parametrize(
    "line",
    [
        "not json",
        "[]",
        '{"jsonrpc": "2.0", "id": null, "error": {"code": -32602, "message": "what?"}}',
        '{"id": {}, "result": 1}',
        '{"id": "tidings-99", "result": {"reminderId": "forged"}}',
        '{"id": 2.0, "result": {"stopReason": "end_turn"}}',
        '{"method": 5}',
        '{"method": "session/update", "params": [1]}',
        '{"method": "_vendor/thing", "params": {}}',
        '{"method": "session/unheard"}',
        "[" * 100_000,
    ],
)
def test_odd_lines_are_noted_and_the_turn_goes_on(tmp_path: Path, line: str) -> None:
    async def scene(host: Host) -> tuple[str, int]:
        session = await host.new_session(tmp_path)
        return (await session.prompt(f"raw {line}\nsay on")).text, len(host.notes)

    assert play(tmp_path, scene) == ("on", 1)


def test_a_huge_line_in_mid_turn_is_skipped(tmp_path: Path) -> None:
    async def scene(host: Host) -> tuple[str, list[str]]:
        session = await host.new_session(tmp_path)
        return (await session.prompt(f"size {20 * 1024 * 1024}\nsay on")).text, kinds(host)

    assert play(tmp_path, scene) == ("on", ["long_line"])


def test_reminders_told_in_the_answer_belong_to_the_turn(tmp_path: Path) -> None:
    meta = {"harn": {"reminders": [{"sessionUpdate": "reminder_emitted", "reminderId": "r1", "body": "b"}]}}

    async def scene(session: Session) -> tuple[object, ...]:
        return (await session.prompt(f"meta {json.dumps(meta)}")).reminders

    assert talk(tmp_path, scene) == (Emitted(session_id="s1", reminder_id="r1", body="b"),)


def test_without_a_permission_function_the_agent_is_refused(tmp_path: Path) -> None:
    script = f"ask session/request_permission {json.dumps(ASKED)}"
    assert said(tmp_path, script) == {"result": {"outcome": {"outcome": "selected", "optionId": "no"}}}


def test_a_refusal_without_such_an_option_is_cancelled(tmp_path: Path) -> None:
    script = f"ask session/request_permission {json.dumps({**ASKED, 'options': OPTIONS[:1]})}"
    assert said(tmp_path, script) == {"result": {"outcome": {"outcome": "cancelled"}}}


def test_the_permission_function_sees_the_call_and_chooses(tmp_path: Path) -> None:
    seen: list[PermissionRequest] = []

    async def permission(request: PermissionRequest) -> str | None:
        seen.append(request)
        return request.first("allow_once")

    script = f"ask session/request_permission {json.dumps(ASKED)}"
    told = said(tmp_path, script, client=Client(permission=permission))
    assert told == {"result": {"outcome": {"outcome": "selected", "optionId": "yes"}}}
    offered = (
        PermissionOption("yes", "Allow", "allow_once"),
        PermissionOption("no", "Reject", "reject_once"),
    )
    assert seen == [PermissionRequest("s1", {"toolCallId": "t1", "title": "rm"}, offered)]


def broken(_: object) -> str:
    raise RuntimeError("my secret")


@pytest.mark.parametrize(
    "permission", [lambda _: None, lambda _: "maybe", broken], ids=["no", "odd", "broken"]
)
def test_what_is_not_a_clear_yes_is_a_no(tmp_path: Path, permission: object) -> None:
    script = f"ask session/request_permission {json.dumps(ASKED)}"
    told = said(tmp_path, script, client=Client(permission=permission))  # type: ignore[arg-type]
    assert told == {"result": {"outcome": {"outcome": "selected", "optionId": "no"}}}


def test_meta_cannot_change_what_the_permission_is_about(tmp_path: Path) -> None:
    seen: list[str] = []

    def permission(request: PermissionRequest) -> None:
        seen.append(f"{request.session_id} {request.tool_call['title']}")

    asked = {**ASKED, "_meta": {"session_id": "s9", "tool_call": {"title": "ls"}, "options": []}}
    said(
        tmp_path,
        f"ask session/request_permission {json.dumps(asked)}",
        client=Client(permission=permission),
    )
    assert seen == ["s1 rm"]


def test_cancelling_withdraws_an_open_permission_request(tmp_path: Path) -> None:
    asked = asyncio.Event()

    async def permission(_: PermissionRequest) -> str:
        asked.set()
        return await asyncio.get_running_loop().create_future()

    async def scene(session: Session) -> str:
        working = asyncio.create_task(
            session.prompt(f"ask session/request_permission {json.dumps(ASKED)}\nstop cancelled")
        )
        await asked.wait()
        await session.cancel()
        return (await working).text

    told = talk(tmp_path, scene, client=Client(permission=permission))
    assert json.loads(told) == {"result": {"outcome": {"outcome": "cancelled"}}}


def test_files_go_through_the_callers_functions(tmp_path: Path) -> None:
    seen: list[object] = []

    def read(asked: ReadFile) -> str:
        seen.append(asked)
        return "text"

    async def write(asked: WriteFile) -> None:
        seen.append(asked)

    read_params = {"sessionId": "s1", "path": "/a", "line": 2, "limit": 5, "_meta": {"path": "/b"}}
    write_params = {"sessionId": "s1", "path": "/a", "content": "new"}
    client = Client(read_file=read, write_file=write)
    told = said(tmp_path, f"ask fs/read_text_file {json.dumps(read_params)}", client=client)
    assert told == {"result": {"content": "text"}}
    told = said(tmp_path, f"ask fs/write_text_file {json.dumps(write_params)}", client=client)
    assert told == {"result": {}}
    assert seen == [ReadFile("s1", "/a", 2, 5), WriteFile("s1", "/a", "new")]


def missing(asked: ReadFile) -> str:
    raise FileNotFoundError(asked.path)


@pytest.mark.parametrize(
    ("read", "error"),
    [
        (missing, {"code": -32002, "message": "Resource not found", "data": {"uri": "/a"}}),
        (broken, {"code": -32603, "message": "Internal error", "data": {"details": "RuntimeError"}}),
        (
            lambda _: 5,
            {"code": -32603, "message": "Internal error", "data": {"details": "the file has no text"}},
        ),
    ],
    ids=["missing", "broken", "no text"],
)
def test_a_failing_file_function_is_an_error_that_tells_no_more_than_it_must(
    tmp_path: Path, read: object, error: object
) -> None:
    params = json.dumps({"sessionId": "s1", "path": "/a"})
    client = Client(read_file=read)  # type: ignore[arg-type]
    assert said(tmp_path, f"ask fs/read_text_file {params}", client=client) == {"error": error}


def test_text_that_cannot_be_written_is_an_error_and_no_silence(tmp_path: Path) -> None:
    params = json.dumps({"sessionId": "s1", "path": "/a"})
    told = said(tmp_path, f"ask fs/read_text_file {params}", client=Client(read_file=lambda _: "\ud800"))
    assert isinstance(told, dict)
    assert told["error"]["code"] == -32603


@pytest.mark.parametrize(
    "method",
    ["fs/read_text_file", "fs/write_text_file", "terminal/create", "elicitation/create", "_vendor/x"],
)
def test_what_was_not_offered_is_refused(tmp_path: Path, method: str) -> None:
    params = {"sessionId": "s1", "path": "/etc/passwd", "content": "", "command": "ls"}
    told = said(tmp_path, f"ask {method} {json.dumps(params)}")
    message = f"this host does not do {method!r}"
    assert told == {"error": {"code": -32601, "message": message}}


def test_a_request_with_wrong_parameters_gets_an_error(tmp_path: Path) -> None:
    told = said(tmp_path, 'ask session/request_permission {"sessionId": 5}')
    assert isinstance(told, dict)
    assert told["error"]["code"] == -32602


def test_a_prompt_too_large_to_send_is_the_callers_fault(tmp_path: Path) -> None:
    async def scene(session: Session) -> str:
        with pytest.raises(CallerError, match="a message may have 16777216 bytes"):
            await session.prompt("x" * (16 * 1024 * 1024))
        with pytest.raises(CallerError, match="cannot be written as JSON"):
            await session.prompt("half \ud83d")
        return (await session.prompt("say on")).text

    assert talk(tmp_path, scene) == "on"
    assert [message["method"] for message in sent(tmp_path)][2:] == ["session/prompt"]
