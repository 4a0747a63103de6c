"""The opencode plugin, run by node: its hooks change what opencode lets them change, and never harm it."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.hosts.test_command import hub_in, remind, surroundings
from tidings.core.reminder import Payload

STAGE = Path(__file__).parent / "plugin_stage.mjs"
PLUGIN = Path(__file__).parents[2] / "src" / "tidings" / "hosts" / "plugins" / "opencode.js"

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


class Stage:
    """A process with the plugin in it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def play(self, hook: str, input: Payload, output: Payload | None = None) -> Payload:
        """What a hook did: `output` as it is then, what was thrown, and which prompts were sent."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        line = json.dumps({"hook": hook, "input": input, "output": output or {}})
        self._process.stdin.write(line.encode() + b"\n")
        answer: Payload = json.loads(await self._process.stdout.readline())
        return answer

    async def event(self, kind: str, session: str) -> Payload:
        about = {"sessionID": session, "info": {"id": session}}
        return await self.play("event", {"event": {"type": kind, "properties": about}})


@asynccontextmanager
async def staged(folder: Path, environ: dict[str, str], *arguments: str) -> AsyncIterator[Stage]:
    module = folder / "tidings.mjs"
    module.write_text(PLUGIN.read_text().replace("const SECONDS = 1\n", "const SECONDS = 20\n"))
    process = await asyncio.create_subprocess_exec(
        "node",
        str(STAGE),
        str(module),
        *arguments,
        env=environ,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        yield Stage(process)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        await process.wait()


def prompt(session: str = "s1") -> tuple[Payload, Payload]:
    message = {"id": "msg_1", "sessionID": session}
    return {"sessionID": session}, {
        "message": message,
        "parts": [{"id": "prt_1", "type": "text", "text": "go"}],
    }


def tool(call: str) -> Payload:
    return {"tool": "bash", "sessionID": "s1", "callID": call}


def test_news_become_a_part_of_the_prompt_or_stand_behind_a_tools_output(tmp_path: Path) -> None:
    environ = surroundings(tmp_path)

    async def script() -> None:
        async with hub_in(environ) as client, staged(tmp_path, environ) as stage:
            await remind(client, "The review is in.")
            told = await stage.play("chat.message", *prompt())
            output = told["output"]
            assert isinstance(output, dict)
            part = output["parts"][1]
            assert part == {
                "id": "prt_1t",
                "sessionID": "s1",
                "messageID": "msg_1",
                "type": "text",
                "text": part["text"],
                "synthetic": True,
            }
            assert part["text"].endswith("The review is in.")
            await remind(client, "The build is red.")
            used: Payload = {"tool": "bash", "sessionID": "s1", "callID": "a", "args": {"command": "ls"}}
            after = await stage.play("tool.execute.after", used, {"output": "README.md"})
            output = after["output"]
            assert isinstance(output, dict)
            assert output["output"].startswith("README.md\n\nAdded by tidings")
            assert (after["thrown"], after["prompts"]) == (None, [])

    asyncio.run(script())


def test_an_interrupt_throws_for_each_call_until_the_next_request(tmp_path: Path) -> None:
    environ = surroundings(tmp_path)

    async def script() -> None:
        async with hub_in(environ) as client, staged(tmp_path, environ) as stage:
            await stage.play("chat.message", *prompt())
            await remind(client, "The branch was force-pushed.", mode="interrupt_immediate")
            thrown = []
            for call in ("a", "b"):
                told = await stage.play("tool.execute.before", tool(call))
                thrown.append(str(told["thrown"]))
            assert thrown[0].startswith("Not run. The user did not refuse it")
            assert thrown[0].endswith("The branch was force-pushed.")
            assert thrown[1].startswith("Not run. The user did not refuse it")
            await stage.play("chat.params", {"sessionID": "s1", "agent": "title"})
            still = await stage.play("tool.execute.before", tool("c"))
            assert still["thrown"] is not None
            await stage.play("chat.params", {"sessionID": "s1", "agent": "build"})
            runs = await stage.play("tool.execute.before", tool("d"))
            assert runs["thrown"] is None

    asyncio.run(script())


def test_an_ending_is_continued_once_by_a_synthetic_prompt(tmp_path: Path) -> None:
    environ = surroundings(tmp_path)

    async def script() -> None:
        async with hub_in(environ) as client, staged(tmp_path, environ) as stage:
            await stage.play("chat.message", *prompt())
            await remind(client, "The build is red.")
            told = await stage.event("session.idle", "s1")
            [sent] = told["prompts"]  # type: ignore[misc]
            assert sent["path"] == {"id": "s1"}
            [part] = sent["body"]["parts"]
            assert (part["type"], part["synthetic"]) == ("text", True)
            await stage.play("chat.message", *prompt())
            await remind(client, "Still red.")
            assert (await stage.event("session.idle", "s1"))["prompts"] == []

    asyncio.run(script())


def test_a_run_that_ends_with_its_turn_is_not_continued(tmp_path: Path) -> None:
    environ = surroundings(tmp_path)

    async def script() -> None:
        async with hub_in(environ) as client, staged(tmp_path, environ, "run") as stage:
            await stage.play("chat.message", *prompt())
            await remind(client, "The build is red.")
            assert (await stage.event("session.idle", "s1"))["prompts"] == []
            listed = await client.ask("GET", "/v1/reminders")
            assert isinstance(listed.body, dict)
            assert listed.body["pendingCount"] == 1

    asyncio.run(script())


def test_a_child_session_gets_what_stands_and_drains_nothing(tmp_path: Path) -> None:
    environ = surroundings(tmp_path)

    async def script() -> None:
        async with hub_in(environ) as client, staged(tmp_path, environ) as stage:
            await remind(client, "Deploys are frozen.")
            await stage.play("chat.message", *prompt())
            await remind(client, "For the parent.")
            told = await stage.play("chat.message", *prompt("child1"))
            output = told["output"]
            assert isinstance(output, dict)
            assert "handed down:\nDeploys are frozen." in output["parts"][1]["text"]
            used: Payload = {"tool": "bash", "sessionID": "child1", "callID": "a"}
            after = await stage.play("tool.execute.after", used, {"output": "x"})
            assert after["output"] == {"output": "x"}

    asyncio.run(script())


@pytest.mark.parametrize("session", ["unknown", "broken", "silent"])
def test_a_session_whose_parent_cannot_be_known_is_given_nothing(tmp_path: Path, session: str) -> None:
    environ = surroundings(tmp_path)

    async def script() -> None:
        async with hub_in(environ) as client, staged(tmp_path, environ) as stage:
            await remind(client, "The review is in.")
            given, output = prompt(session)
            assert (await stage.play("chat.message", given, output))["output"] == output
            listed = await client.ask("GET", "/v1/sessions")
            assert listed.body == {"sessions": []}

    asyncio.run(script())


def test_a_child_that_is_not_known_at_once_is_asked_for_again_and_is_still_a_child(tmp_path: Path) -> None:
    environ = surroundings(tmp_path)

    async def script() -> None:
        async with hub_in(environ) as client, staged(tmp_path, environ) as stage:
            await remind(client, "For the parent alone.", propagate="none")
            await remind(client, "Deploys are frozen.")
            given, output = prompt("child-late")
            assert (await stage.play("chat.message", given, output))["output"] == output
            listed = await client.ask("GET", "/v1/sessions")
            assert isinstance(listed.body, dict)
            assert [row["sessionId"] for row in listed.body["sessions"]] == ["opencode:s1"]

    asyncio.run(script())


def test_word_of_a_new_session_that_does_not_say_whose_it_is_proves_nothing(tmp_path: Path) -> None:
    environ = surroundings(tmp_path)

    async def script() -> None:
        async with hub_in(environ) as client, staged(tmp_path, environ) as stage:
            about = {"type": "session.created", "properties": {"sessionID": "child1"}}
            await stage.play("event", {"event": about})
            listed = await client.ask("GET", "/v1/sessions")
            assert isinstance(listed.body, dict)
            assert [row["sessionId"] for row in listed.body["sessions"]] == ["opencode:s1"]

    asyncio.run(script())


def test_without_a_hub_every_hook_leaves_things_as_they_are(tmp_path: Path) -> None:
    environ = surroundings(tmp_path)

    async def script() -> None:
        async with staged(tmp_path, environ) as stage:
            given, output = prompt()
            assert (await stage.play("chat.message", given, output))["output"] == output
            told = await stage.play("tool.execute.before", {"sessionID": "s1", "callID": "a"})
            assert told == {"output": {}, "thrown": None, "prompts": []}
            assert (await stage.event("session.idle", "s1"))["prompts"] == []
            odd = await stage.play("tool.execute.after", {}, {})
            assert odd == {"output": {}, "thrown": None, "prompts": []}

    asyncio.run(script())
