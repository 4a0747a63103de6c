"""Who may see what: the grant that counts, and ids that cannot be compared."""

from __future__ import annotations

import msgspec
import pytest

from tidings.mcp.config import Server
from tidings.mcp.conversation.consent import (
    ConsentError,
    Consents,
    Grant,
    off_in,
    pairwise,
    read_consents,
    read_scopes,
    shown_target,
    target_of,
    with_grant,
    without_server,
)

KEY = "ab" * 32
SHOP = Grant(server="memory", target="t1", project="/home/me/shop")


def test_without_a_grant_nobody_sees_anything() -> None:
    assert Consents().grant_for("memory", "t1", "/home/me/shop") is None


@pytest.mark.parametrize(
    ("server", "target", "project", "granted"),
    [
        ("memory", "t1", "/home/me/shop", True),
        ("memory", "t1", "/home/me/shop/web", True),
        ("memory", "t1", "/home/me/shopping", False),
        ("memory", "t1", "/home/me", False),
        ("memory", "t2", "/home/me/shop", False),
        ("other", "t1", "/home/me/shop", False),
    ],
)
def test_a_grant_holds_for_its_server_its_target_and_its_project(
    server: str, target: str, project: str, granted: bool
) -> None:
    found = Consents(key=KEY, grants=(SHOP,)).grant_for(server, target, project)
    assert found == (SHOP if granted else None)


def test_the_grant_of_the_innermost_project_counts() -> None:
    wide = Grant(server="memory", target="t1", scopes=("message", "history"))
    consents = Consents(key=KEY, grants=(SHOP, wide))
    assert consents.grant_for("memory", "t1", "/home/me/shop/web") == SHOP
    assert consents.grant_for("memory", "t1", "/srv") == wide


def test_off_in_one_project_leaves_the_wider_grant() -> None:
    wide = Grant(server="memory", target="t1")
    inner = Grant(server="memory", target="t1", project="/home/me/shop/web")
    consents, gone = off_in(Consents(key=KEY, grants=(wide, inner)), "memory", "/home/me/shop", 7)
    assert gone == (inner, wide)
    assert consents.grant_for("memory", "t1", "/home/me/shop/web") is None
    assert consents.grant_for("memory", "t1", "/home/me") == wide
    off = Grant(server="memory", target="t1", project="/home/me/shop", scopes=(), granted_at_ms=7)
    assert consents.grants == (wide, off)


def test_off_where_nothing_wider_is_granted_keeps_nothing() -> None:
    consents, gone = off_in(Consents(key=KEY, grants=(SHOP,)), "memory", "/home/me/shop", 7)
    assert (consents.grants, gone) == ((), (SHOP,))


def test_revoking_takes_every_grant_of_the_server() -> None:
    other = Grant(server="docs", target="t9")
    wide = Grant(server="memory", target="t1")
    consents, gone = without_server(Consents(key=KEY, grants=(SHOP, other, wide)), "memory")
    assert (consents.grants, gone) == ((other,), (SHOP, wide))


def test_a_newer_grant_takes_the_place_of_the_older_also_for_another_program() -> None:
    newer = Grant(server="memory", target="t2", project="/home/me/shop", scopes=("assistant",))
    assert with_grant(Consents(key=KEY, grants=(SHOP,)), newer).grants == (newer,)


def test_a_name_that_now_means_another_program_is_told_apart_from_no_consent() -> None:
    consents = Consents(key=KEY, grants=(SHOP,))
    assert consents.changed_target("memory", "t2", "/home/me/shop")
    assert not consents.changed_target("memory", "t1", "/home/me/shop")
    assert not consents.changed_target("memory", "t2", "/srv")
    assert not consents.changed_target("docs", "t1", "/home/me/shop")


def test_scopes_are_read_in_order_and_message_is_the_least() -> None:
    assert read_scopes(()) == ("message",)
    assert read_scopes(("assistant", "message")) == ("message", "assistant")
    with pytest.raises(ConsentError, match="unknown scope 'all'; known are message, history, assistant"):
        read_scopes(("all",))


def test_history_is_nothing_without_the_message() -> None:
    with pytest.raises(ConsentError, match="goes with `message`"):
        Grant(server="memory", target="t1", scopes=("history",))


def test_a_target_is_the_program_and_its_arguments_and_not_its_secrets() -> None:
    one = Server(name="memory", command=("python", "m.py"), env={"TOKEN": "a"})
    assert target_of(one) == target_of(
        Server(name="renamed", command=("python", "m.py"), env={"TOKEN": "b"})
    )
    assert target_of(one) != target_of(Server(name="memory", command=("python", "n.py")))
    assert target_of(one) != target_of(Server(name="memory", command=("python", "m.py"), cwd="/srv"))
    assert shown_target(one) == "python"
    assert shown_target(Server(name="m", url="https://example.com/mcp?key=1")) == "https://example.com/mcp"


def test_ids_are_pairwise_stable_and_need_the_key() -> None:
    assert pairwise(KEY, "t1", "s1") == pairwise(KEY, "t1", "s1")
    ids = {
        pairwise(KEY, "t1", "s1"),
        pairwise(KEY, "t2", "s1"),
        pairwise(KEY, "t1", "s2"),
        pairwise("cd" * 32, "t1", "s1"),
    }
    assert len(ids) == 4
    assert all(len(one) == 32 for one in ids)


def test_what_was_written_is_read_back() -> None:
    consents = Consents(key=KEY, grants=(SHOP, Grant(server="docs", target="t9", scopes=())))
    assert read_consents(msgspec.json.encode(consents)) == consents


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "cannot be read"),
        (b'{"grants": [{"server": "x"}]}', "missing required field"),
        (b'{"grants": [{"server": "x", "target": "t", "scopes": ["all"]}]}', "Invalid enum value 'all'"),
        (b'{"grants": [{"server": "x", "target": "t", "scopes": ["history"]}]}', "goes with `message`"),
        (b'{"version": 2}', "of version 2; this Tidings reads 1"),
        (b'{"everybody": true}', "unknown field"),
        (b'{"grants": [{"server": "x", "target": "t"}]}', "no `key` of 64 hex digits"),
        (b'{"key": "zz", "grants": [{"server": "x", "target": "t"}]}', "no `key` of 64 hex digits"),
    ],
)
def test_consents_that_are_damaged_are_an_error_and_never_a_consent(data: bytes, said: str) -> None:
    with pytest.raises(ConsentError, match=said):
        read_consents(data)
