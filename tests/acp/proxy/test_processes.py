"""`tidings acp-proxy` as a real process between a real editor's pipes and a real agent."""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.acp.proxy.processes import DEADLINE, SCRIPT, Message, fake, play, proxy
from tests.acp.proxy.script import TAKES, from_editor, wrapped
from tidings.bridge.door.call import call
from tidings.log import open_log


def texts(answer: Message) -> list[str]:
    return [block["text"] for block in answer["result"]["_meta"]["seen"]]


def socket_of(runtime: Path) -> str:
    (path,) = (runtime / "tidings").glob("acp-*.sock")
    return str(path)


async def through_the_door(runtime: Path, method: str, **params: object) -> Message:
    return await asyncio.to_thread(call, socket_of(runtime), method, params, 20)


def test_a_reminder_of_the_editor_reaches_the_agent_and_the_editor_is_told(tmp_path: Path) -> None:
    async def scene() -> None:
        async with proxy(fake(), "--quiet", runtime=tmp_path) as editor:
            session = await editor.open(TAKES)
            await editor.ask(
                "session/inject_reminder", {"sessionId": session, "body": "red", "ttlTurns": 1}
            )
            answer = await editor.prompt(session)
            assert texts(answer) == ["hello", wrapped(from_editor("red"))]
            kinds = [m["params"]["update"]["sessionUpdate"] for m in editor.seen if "params" in m]
            assert kinds == ["agent_message_chunk", "reminder_emitted", "reminder_expired"]
            assert await editor.end() == (0, "")

    play(scene)


def test_a_program_reaches_the_agent_through_a_private_socket(tmp_path: Path) -> None:
    async def scene() -> None:
        async with proxy(fake(), runtime=tmp_path) as editor:
            session = await editor.open()
            path = socket_of(tmp_path)
            assert [os.stat(path).st_mode & 0o777, os.stat(Path(path).parent).st_mode & 0o777] == [
                0o600,
                0o700,
            ]
            hello = next(m for m in editor.seen if m.get("id") == 1)
            assert hello["result"]["_meta"]["door"] == path
            await through_the_door(tmp_path, "session/remind", body="from a script")
            answer = await editor.prompt(session)
            body = "From a program on this computer:\nfrom a script"
            assert texts(answer) == ["hello", wrapped(body)]
            assert await editor.end() == (0, f"tidings: reminders at {path}\n")
            assert not os.path.exists(path)  # noqa: ASYNC240

    play(scene)


@pytest.mark.parametrize("style", ["claude", "opencode", "codex"])
def test_a_loaded_session_shows_nothing_of_ours(tmp_path: Path, style: str) -> None:
    async def scene() -> None:
        async with proxy(fake(style), "--no-socket", runtime=tmp_path) as editor:
            session = await editor.open()
            await editor.ask("session/remind", {"body": "secret of ours"})
            await editor.prompt(session, "my words")
            editor.seen.clear()
            await editor.ask("session/load", {"sessionId": session, "cwd": "/", "mcpServers": []})
            shown = [m["params"]["update"]["content"]["text"] for m in editor.seen if "params" in m]
            assert shown == ["my words"]

    play(scene)


def test_an_interrupt_is_steered_into_a_running_prompt(tmp_path: Path) -> None:
    async def scene() -> None:
        async with proxy(fake("steering"), runtime=tmp_path) as editor:
            session = await editor.open(TAKES)
            asked = editor.start_prompt(session, "wait")
            await editor.until(lambda m: "params" in m)
            await through_the_door(tmp_path, "session/remind", body="Stop.", mode="interrupt_immediate")
            answer = await editor.answer(asked)
            assert texts(answer) == ["wait", wrapped("From a program on this computer:\nStop.")]
            kinds = [m["params"]["update"]["sessionUpdate"] for m in editor.seen if "params" in m]
            assert kinds == ["agent_message_chunk", "reminder_emitted", "agent_message_chunk"]

    play(scene)


def test_an_agent_that_dies_in_a_prompt_leaves_an_error_and_its_exit_code(tmp_path: Path) -> None:
    async def scene() -> None:
        async with proxy(fake(), "--no-socket", runtime=tmp_path) as editor:
            session = await editor.open()
            answer = await editor.prompt(session, "die")
            assert answer["error"] == {
                "code": -32603,
                "message": "the agent ended with exit code 7 before it answered",
            }
            assert await editor.over() == (7, "")

    play(scene)


def test_what_waited_outlives_kill_9_with_a_log(tmp_path: Path) -> None:
    log = tmp_path / "reminders.db"

    async def before() -> None:
        async with proxy(fake(), "--log", str(log), "--no-socket", runtime=tmp_path) as editor:
            session = await editor.open()
            assert session == "s2"
            await editor.ask("session/remind", {"sessionId": session, "body": "seen", "id": "r1"})
            await editor.prompt(session)
            await editor.ask("session/remind", {"sessionId": session, "body": "waiting", "id": "r2"})
            editor.process.kill()
            assert (await editor.over())[0] == -signal.SIGKILL

    async def after() -> None:
        async with proxy(fake(), "--log", str(log), "--no-socket", runtime=tmp_path) as editor:
            session = await editor.open()
            listed = await editor.ask("session/pending_injections", {"sessionId": session})
            assert [row["reminderId"] for row in listed["result"]["injections"]] == ["r2"]
            answer = await editor.prompt(session)
            assert texts(answer) == ["hello", wrapped(from_editor("waiting"))]
            assert answer["result"]["_meta"]["harn"]["reminder"]["firedAtTurn"] == 2
            await editor.end()

    play(before)
    play(after)
    with open_log(log) as written:
        kinds = [r.kind.rpartition(".")[2] for r in written.read("transcript.reminder.lifecycle")]
    assert [kind for kind in kinds if kind in ("queued", "fired")] == ["queued", "fired", "queued", "fired"]


def test_a_session_that_another_process_keeps_in_the_log_is_kept_in_memory_and_reported(
    tmp_path: Path,
) -> None:
    async def scene() -> None:
        options = ("--no-socket", "--log", str(tmp_path / "log.db"))
        async with proxy(fake(), *options, runtime=tmp_path) as first:
            session = await first.open()
            await first.ask("session/inject_reminder", {"sessionId": session, "body": "mine"})
            async with proxy(fake(), *options, runtime=tmp_path) as second:
                assert await second.open() == session
                assert texts(await second.prompt(session)) == ["hello"]
                code, errors = await second.end()
            assert (code, errors) == (
                0,
                f"tidings: session {session!r} cannot be kept in the log, memory must do: "
                f"session {session!r} is in use by another process; close it there first\n",
            )
            assert texts(await first.prompt(session)) == ["hello", wrapped(from_editor("mine"))]
            assert await first.end() == (0, "")

    play(scene)


def test_a_reminder_under_way_when_we_were_killed_is_sent_again(tmp_path: Path) -> None:
    log = tmp_path / "reminders.db"

    async def before() -> None:
        async with proxy(fake(), "--log", str(log), "--no-socket", runtime=tmp_path) as editor:
            session = await editor.open()
            await editor.ask("session/remind", {"sessionId": session, "body": "under way"})
            editor.start_prompt(session, "wait")
            await editor.until(lambda m: "params" in m)
            editor.process.kill()
            await editor.over()

    async def after() -> None:
        async with proxy(fake(), "--log", str(log), "--no-socket", runtime=tmp_path) as editor:
            session = await editor.open()
            assert texts(await editor.prompt(session)) == ["hello", wrapped(from_editor("under way"))]

    play(before)
    play(after)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_both_and_tells_who_waits(tmp_path: Path, number: signal.Signals) -> None:
    async def scene() -> None:
        async with proxy(fake("stubborn"), "--quiet", runtime=tmp_path) as editor:
            session = await editor.open()
            asked = editor.start_prompt(session, "wait")
            await editor.until(lambda m: "params" in m)
            editor.process.send_signal(number)
            answer = await editor.answer(asked)
            assert f"stopped by signal {number.value}" in answer["error"]["message"]
            assert await editor.over() == (128 + number, "")
            assert list((tmp_path / "tidings").iterdir()) == []

    play(scene)


def test_the_end_of_the_editor_ends_the_agent_and_its_exit_code_is_ours(tmp_path: Path) -> None:
    async def scene() -> None:
        command = [sys.executable, "-c", "import sys; sys.stdin.read(); print('bye'); sys.exit(3)"]
        async with proxy(command, "--no-socket", runtime=tmp_path) as editor:
            assert editor.process.stdin is not None
            editor.process.stdin.close()
            assert await editor.line() == b"bye\n"
            assert await editor.over() == (3, "")

    play(scene)


def test_large_and_odd_lines_pass_byte_for_byte(tmp_path: Path) -> None:
    lines = [
        b"\n",
        b"not json \xff\xfe\r\n",
        b'{"jsonrpc":"2.0","method":"_x/y","params":' + b" " * 300_000 + b"{}}\n",
        b'{"big":"' + b"x" * (17 * 1024 * 1024) + b'"}\n',
        b'{"id":null,"error":{"code":-32700,"message":"?"}}\n',
        b"tail without a newline",
    ]

    async def scene() -> None:
        async with proxy(["cat"], "--no-socket", runtime=tmp_path) as editor:
            assert editor.process.stdin is not None
            assert editor.process.stdout is not None
            reading = asyncio.create_task(editor.process.stdout.read())
            for line in lines:
                editor.write(line)
                await editor.process.stdin.drain()
            editor.process.stdin.close()
            assert await reading == b"".join(lines)
            assert await editor.over() == (0, "")

    play(scene)


FLOOD = """
import os, select, sys
os.set_blocking(1, False)
written = 0
while written < 50_000_000 and select.select([], [1], [], 1.0)[1]:
    written += os.write(1, b"x" * 4095 + b"\\n")
print(written, file=sys.stderr, flush=True)
"""


def test_an_editor_that_does_not_read_holds_the_agent_back_instead_of_filling_memory(
    tmp_path: Path,
) -> None:
    async def scene() -> None:
        command = [sys.executable, "-c", FLOOD]
        async with proxy(command, "--no-socket", runtime=tmp_path, limit=1024) as editor:
            assert editor.process.stderr is not None
            assert editor.process.stdout is not None
            written = int(await editor.process.stderr.readline())
            assert 0 < written < 5_000_000
            assert len(await editor.process.stdout.read()) == written
            assert await editor.over() == (0, "")

    play(scene)


def test_an_editor_that_asks_and_does_not_read_is_given_up(tmp_path: Path) -> None:
    async def scene() -> None:
        async with proxy(fake(), "--no-socket", runtime=tmp_path, limit=2**20) as editor:
            session = await editor.open()
            for number in range(50):
                remind = {"sessionId": session, "body": f"{number} " + "x" * 30_000}
                await editor.ask("session/inject_reminder", remind)
            for _ in range(200):
                editor.send("session/pending_injections", {"sessionId": session})
            told = "tidings: the editor does not read: 67108864 bytes wait; giving it up\n"
            assert await editor.over() == (0, told)

    play(scene)


def test_an_agent_that_does_not_read_holds_the_editor_back() -> None:
    command = [
        SCRIPT,
        "acp-proxy",
        "--no-socket",
        "--",
        sys.executable,
        "-c",
        "import signal; signal.pause()",
    ]
    with subprocess.Popen(command, stdin=-1, bufsize=0) as process:
        assert process.stdin is not None
        pipe = process.stdin.fileno()
        os.set_blocking(pipe, False)
        written = 0
        while written < 50_000_000 and select.select([], [pipe], [], 1.0)[1]:
            written += os.write(pipe, b"x" * 4095 + b"\n")
        process.terminate()
        assert process.wait(timeout=DEADLINE) == 128 + signal.SIGTERM
    assert 0 < written < 5_000_000


def test_an_agent_that_cannot_be_started_is_one_line_and_exit_2(tmp_path: Path) -> None:
    async def scene() -> None:
        async with proxy(["no-such-agent-here"], "--quiet", runtime=tmp_path) as editor:
            code, errors = await editor.end()
            assert (code, errors.count("\n")) == (2, 1)
            assert errors.startswith("tidings: the agent 'no-such-agent-here' cannot be started: ")

    play(scene)


def test_a_socket_that_is_taken_is_one_line_and_exit_2(tmp_path: Path) -> None:
    path = str(tmp_path / "door.sock")

    async def scene() -> None:
        async with proxy(["cat"], "--socket", path, runtime=tmp_path) as first:
            errors = first.process.stderr
            assert errors is not None
            assert await errors.readline() == f"tidings: reminders at {path}\n".encode()
            async with proxy(["cat"], "--socket", path, runtime=tmp_path) as second:
                assert await second.end() == (
                    2,
                    f"tidings: somebody listens at {path!r} already; give another path\n",
                )
            assert (await first.end())[0] == 0

    play(scene)


def test_a_native_agent_gets_what_comes_through_the_door(tmp_path: Path) -> None:
    async def scene() -> None:
        async with proxy(fake("native"), runtime=tmp_path) as editor:
            session = await editor.open()
            result = await through_the_door(tmp_path, "session/remind", body="x")
            assert result == {"reminderId": "native-1", "seen": {"body": "x", "sessionId": session}}
            assert await editor.end() == (
                0,
                f"tidings: reminders at {result and editor.seen[0]['result']['_meta']['door']}\n",
            )

    play(scene)


def test_without_a_command_it_is_a_proxy_in_a_chain(tmp_path: Path) -> None:
    async def scene() -> None:
        async with proxy([], "--quiet", runtime=tmp_path) as editor:
            asked = editor.send("proxy/initialize", {"protocolVersion": 1})
            forwarded = await editor.until(lambda m: m.get("method") == "proxy/successor")
            assert forwarded["params"]["method"] == "initialize"
            reply = {"jsonrpc": "2.0", "id": forwarded["id"], "result": {"protocolVersion": 1}}
            editor.write(json.dumps(reply).encode() + b"\n")
            answer = await editor.answer(asked)
            assert answer["result"]["agentCapabilities"]["reminders"]["inject"] is True
            assert await editor.end() == (0, "")

    play(scene)


def test_a_recorded_conversation_can_be_played_from_a_file(tmp_path: Path) -> None:
    recorded, played = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    recorded.write_bytes(b'{"a":1}\n{"b":2}\n')

    with open(recorded) as source, open(played, "wb") as sink:
        command = [SCRIPT, "acp-proxy", "--no-socket", "--", "cat"]
        done = subprocess.run(command, stdin=source, stdout=sink, timeout=DEADLINE, check=False)
    assert done.returncode == 0
    assert played.read_bytes() == recorded.read_bytes()


BROKEN = """
import sys
from tidings.acp.proxy.interposer import Interposer
from tidings.cli.start import run

def broken(self, line):
    raise RuntimeError("a mistake of ours")

Interposer.from_agent = broken
sys.argv = ["tidings", "acp-proxy", "--no-socket", "--", *sys.argv[1:]]
run()
"""


def test_a_mistake_of_ours_ends_in_order_and_loudly() -> None:
    hello = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}\n'
    command = [sys.executable, "-c", BROKEN, *fake()]
    with subprocess.Popen(command, stdin=-1, stdout=-1, stderr=-1) as process:
        assert process.stdin is not None
        process.stdin.write(hello)
        process.stdin.flush()
        assert process.stdout is not None
        answer = json.loads(process.stdout.readline())
        _, errors = process.communicate(timeout=DEADLINE)
    assert answer["id"] == 1
    assert "a mistake of ours" in answer["error"]["message"]
    assert process.returncode == 1
    assert errors.rstrip().endswith(b"RuntimeError: a mistake of ours")
