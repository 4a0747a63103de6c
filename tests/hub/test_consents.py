"""Consents at the hub: listed, taken back at once for every agent, and the ledger of what was sent."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.hub.running import Client
from tests.hub.test_http import play
from tidings.core.reminder import Payload
from tidings.mcp.conversation import ledger
from tidings.mcp.conversation.consent import Consents, Grant, without_scope
from tidings.mcp.conversation.ledger import Sent
from tidings.mcp.conversation.store import ConsentStore

NOTES = Grant(server="notes", target="t1", what="npx", scopes=("message", "history", "assistant"))
WIKI = Grant(server="wiki", target="t2", what="http://wiki", project="/w", priority=3)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ConsentStore:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return ConsentStore(clock=lambda: 7)


def sent(server: str, number: int) -> Sent:
    return Sent(
        server=server, target="t1", event="user_message", form="request", scopes=("message",), project="/w",
        session_id="s", conversation_id="c", message_id=f"m{number}", history=0, bytes=number, sha256="0",
    )  # fmt: skip


def shown(answer: object) -> list[Payload]:
    assert isinstance(answer, dict)
    rows: list[Payload] = answer.get("grants", answer.get("entries"))
    return rows


def test_grants_are_listed_with_when_they_were_last_used(tmp_path: Path, store: ConsentStore) -> None:
    store.grant(NOTES)
    store.grant(WIKI)
    with ledger.open_ledger() as log:
        ledger.write(log, [sent("notes", 1)])
        (entry,) = ledger.entries(log)

    async def scene(client: Client) -> None:
        answer = await client.ask("GET", "/v1/grants")
        assert answer.body == {
            "grants": [
                {
                    "server": "notes", "what": "npx", "scopes": ["message", "history", "assistant"],
                    "project": None, "priority": 0, "grantedMs": 7, "lastUsedMs": entry.occurred_at_ms,
                },
                {
                    "server": "wiki", "what": "http://wiki", "scopes": ["message"], "project": "/w",
                    "priority": 3, "grantedMs": 7, "lastUsedMs": None,
                },
            ]
        }  # fmt: skip

    play(tmp_path, scene)


def test_a_consent_that_is_taken_back_is_gone_for_whoever_looks_next(
    tmp_path: Path, store: ConsentStore
) -> None:
    store.grant(NOTES)
    assert store.read().grant_for("notes", "t1", "/w") is not None

    async def scene(client: Client) -> None:
        path = "/v1/grants/revoke"
        less = await client.ask("POST", path, {"server": "notes", "scope": "message"})
        assert [one["scopes"] for one in shown(less.body)] == [["assistant"]]
        found = store.read().grant_for("notes", "t1", "/w")
        assert found is not None
        assert found.scopes == ("assistant",)
        assert (await client.ask("POST", path, {"server": "notes"})).body == {"grants": []}
        assert store.read().grant_for("notes", "t1", "/w") is None
        for wrong, status in (
            ({"server": "notes"}, 404),
            ({"server": "x"}, 404),
            ({"server": "notes", "scope": "all"}, 400),
        ):
            assert (await client.ask("POST", path, wrong)).status == status
        entries = shown((await client.ask("GET", "/v1/ledger")).body)
        assert [(one["kind"], one["server"]) for one in entries] == [(ledger.REVOKED, "notes")] * 2

    play(tmp_path, scene)


def test_the_ledger_gives_the_last_entries_of_one_server_or_of_all(
    tmp_path: Path, store: ConsentStore
) -> None:
    async def scene(client: Client) -> None:
        assert (await client.ask("GET", "/v1/ledger")).body == {"entries": []}
        with ledger.open_ledger() as log:
            ledger.write(log, [sent("notes", 1), sent("wiki", 2), sent("notes", 3), sent("notes", 4)])
        entries = shown((await client.ask("GET", "/v1/ledger?server=notes&limit=2")).body)
        assert [(one["cursor"], one["kind"]) for one in entries] == [(3, ledger.SENT), (4, ledger.SENT)]
        assert entries[1]["payload"] == {**sent("notes", 4).payload(), "scopes": ["message"]}
        assert len(shown((await client.ask("GET", "/v1/ledger")).body)) == 4
        assert store.path.parent == ledger.ledger_path().parent

    play(tmp_path, scene)


def test_consents_that_others_could_change_are_refused_with_the_way_out(
    tmp_path: Path, store: ConsentStore
) -> None:
    store.grant(NOTES)
    store.path.chmod(0o644)

    async def scene(client: Client) -> None:
        answer = await client.ask("GET", "/v1/grants")
        assert (answer.status, "chmod 600 it" in str(answer.body)) == (400, True)

    play(tmp_path, scene)


def test_a_project_of_which_nothing_is_left_stays_off_while_a_wider_grant_holds() -> None:
    wide = Grant(server="notes", target="t", scopes=("message", "assistant"))
    here = Grant(server="notes", target="t", project="/w", scopes=("message",))
    before = Consents(key="0" * 64, grants=(wide, here, WIKI))
    after, gone = without_scope(before, "notes", "message")
    assert gone == (wide, here)
    assert [(one.server, one.project, one.scopes) for one in after.grants] == [
        ("notes", None, ("assistant",)), ("notes", "/w", ()), ("wiki", "/w", ("message",)),
    ]  # fmt: skip
    assert after.grant_for("notes", "t", "/w") is None
    nothing, _ = without_scope(after, "notes", "assistant")
    assert [one.server for one in nothing.grants] == ["wiki"]
    assert without_scope(nothing, "notes", "message") == (nothing, ())
