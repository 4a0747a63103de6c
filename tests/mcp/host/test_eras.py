"""Connecting to real processes in both eras: which is spoken, what is advertised, what is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.mcp.host.running import QUICK, Stage, fake, play, received
from tidings.mcp import Deadlines, Rule, Server, Status

BOTH = pytest.mark.parametrize("era", ["legacy", "modern"])


def methods(log: Path) -> list[str]:
    return [message["method"] for message in received(log) if "method" in message]


async def status(stage: Stage) -> Status:
    return stage.servers["fake"]


def test_a_legacy_server_is_found_out_and_connected() -> None:
    found = play(status, fake({"era": "legacy"}))
    assert found == Status(
        name="fake", state="connected", era="legacy", version="2025-11-25", server="fake 1", reminders=True
    )


def test_a_modern_server_is_found_out_and_listened_to(tmp_path: Path) -> None:
    log = tmp_path / "lines"

    async def scene(stage: Stage) -> Status:
        await stage.push({"body": "x"})
        return stage.servers["fake"]

    found = play(scene, fake({"era": "modern"}, log=log))
    assert (found.era, found.version, found.accepted) == ("modern", "2026-07-28", 1)
    asked = next(one for one in received(log) if one["method"] == "subscriptions/listen")["params"]
    [reminders] = [value for key, value in asked["notifications"].items() if "/" in key]
    assert set(reminders) == {"session"}
    assert reminders["session"] not in ("", "s1")
    said = asked["_meta"]
    assert said["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"
    assert said["io.modelcontextprotocol/clientCapabilities"]["extensions"] == {
        "dev.tidings/reminders": {},
        "dev.tidings/conversation-events": {},
    }
    assert "initialize" not in methods(log)


@pytest.mark.parametrize("how", ["error", "silent", "die"])
def test_a_server_without_a_modern_answer_is_asked_the_old_way(how: str) -> None:
    deadlines = Deadlines(connect=60, probe=0.5 if how == "silent" else 30, request=60, stop=10)

    async def scene(stage: Stage) -> str | None:
        await stage.until(lambda: stage.servers["fake"].state == "connected")
        return stage.servers["fake"].era

    assert play(scene, fake({"era": "legacy", "discover": how}), deadlines=deadlines) == "legacy"


def test_a_modern_server_that_is_slow_to_answer_is_found_out_in_the_end() -> None:
    settings = {"era": "modern", "discover": "second"}
    deadlines = Deadlines(connect=60, probe=0.5, request=60, stop=10)
    assert play(status, fake(settings), deadlines=deadlines).era == "modern"


@pytest.mark.parametrize(("era", "pinned"), [("legacy", "modern"), ("modern", "legacy")])
def test_a_pinned_era_that_the_server_does_not_speak_is_a_status_and_a_record(
    era: str, pinned: Any
) -> None:
    async def scene(stage: Stage) -> tuple[str, list[str]]:
        return stage.servers["fake"].reason, stage.warnings()

    reason, warnings = play(scene, fake({"era": era}, era=pinned))
    assert "2026-07-28" in reason or "unsupported version" in reason
    assert warnings == ["mcp_failed"]


def test_a_pinned_era_is_spoken_without_asking(tmp_path: Path) -> None:
    log = tmp_path / "lines"
    assert play(status, fake({"era": "legacy"}, era="legacy", log=log)).era == "legacy"
    assert methods(log)[0] == "initialize"


def test_an_answer_in_a_version_nobody_speaks_is_a_status() -> None:
    found = play(status, fake({"era": "legacy", "version": "1999-01-01"}))
    assert (found.state, found.reason) == (
        "waiting",
        "the server answered with version '1999-01-01', which we do not speak",
    )


@BOTH
@pytest.mark.parametrize("place", ["extensions", "reminders"])
def test_an_advertisement_is_read_wherever_it_stands(era: str, place: str) -> None:
    assert play(status, fake({"era": era, "place": place})).reminders


@BOTH
def test_the_reminders_of_a_server_that_advertises_none_are_dropped_with_a_record(era: str) -> None:
    async def scene(stage: Stage) -> tuple[list[str], list[dict[str, Any]]]:
        await stage.push(*({"body": f"{number}"} for number in range(5)))
        return stage.waiting(), stage.records("dropped")

    waiting, dropped = play(scene, fake({"era": era, "advertise": False}))
    assert waiting == []
    assert [(one["reason"], one["reminder_id"], one["count"]) for one in dropped] == [
        ("undeclared", "r-0", 1)
    ]


@BOTH
def test_what_is_pushed_right_behind_the_greeting_is_not_lost(era: str) -> None:
    async def scene(stage: Stage) -> list[str]:
        await stage.until(lambda: len(stage.waiting()) == 2)
        return stage.waiting()

    assert play(scene, fake({"era": era, "greeting": [{"body": "a"}, {"body": "b"}]})) == ["a", "b"]


def test_all_servers_are_connected_at_once_and_one_that_fails_stops_none() -> None:
    servers = [
        fake({"era": "legacy"}, name="old"),
        fake({"start": "stall"}, name="stalls"),
        fake({"era": "modern"}, name="new"),
        Server(name="missing", command=("/no/such/program",)),
        Server(name="deaf", url="http://127.0.0.1:9/mcp"),
        fake({}, name="off", enabled=False),
    ]

    async def scene(stage: Stage) -> tuple[dict[str, str], dict[str, str], list[str]]:
        found = stage.servers.status()
        tools = sorted({tool.name.partition("__")[0] for tool in await stage.servers.tools()})
        states = {one.name: one.state for one in found}
        return states, {one.name: one.reason for one in found if one.reason}, tools

    quick = Deadlines(connect=5, probe=3, request=60, stop=1)
    states, reasons, tools = play(scene, *servers, deadlines=quick)
    assert states == {
        "old": "connected",
        "stalls": "waiting",
        "new": "connected",
        "missing": "gave_up",
        "deaf": "waiting",
    }
    assert reasons["stalls"] == "it did not answer within 5 seconds"
    assert reasons["missing"].startswith("'/no/such/program' cannot be started")
    assert "ConnectError" in reasons["deaf"]
    assert tools == ["new", "old"]


def test_a_rule_about_one_resource_subscribes_to_it(tmp_path: Path) -> None:
    rules = (Rule(on="resource_updated", match="file:///a", body="a changed"),)
    asked = {}
    for era in ("legacy", "modern"):
        log = tmp_path / era

        async def scene(stage: Stage) -> list[str]:
            update = {"method": "notifications/resources/updated", "params": {"uri": "file:///a"}}
            await stage.push(messages=[update])
            await stage.settled()
            return stage.waiting()

        assert play(scene, fake({"era": era}, log=log, rules=rules), deadlines=QUICK) == ["a changed"]
        asked[era] = {one["method"]: one.get("params", {}) for one in received(log) if "method" in one}
    assert asked["legacy"]["resources/subscribe"]["uri"] == "file:///a"
    assert asked["modern"]["subscriptions/listen"]["notifications"]["resourceSubscriptions"] == [
        "file:///a"
    ]


def test_a_server_that_refuses_the_subscription_stays_connected_and_is_told_about() -> None:
    async def scene(stage: Stage) -> tuple[str, list[str], str]:
        await stage.until(lambda: "mcp_not_listening" in stage.warnings())
        return (
            stage.servers["fake"].state,
            stage.warnings(),
            (await stage.call("echo", text="hi")).outcome.text,
        )

    assert play(scene, fake({"era": "modern", "listen": "refuse"})) == (
        "connected",
        ["mcp_not_listening"],
        "hi",
    )
