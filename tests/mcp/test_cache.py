"""What a client may keep, for how long, and for whom."""

from __future__ import annotations

import pytest

from tidings.core.reminder import Payload
from tidings.mcp.cache import CACHEABLE, Cache
from tidings.mcp.names import PROMPTS_CHANGED, RESOURCE_UPDATED, TOOLS_CHANGED

PRIVATE: Payload = {"tools": [], "ttlMs": 1000, "cacheScope": "private"}
PUBLIC: Payload = {"tools": [], "ttlMs": 1000, "cacheScope": "public"}


def test_a_result_holds_for_its_time_and_no_longer() -> None:
    cache = Cache()
    assert cache.put("tools/list", {}, PRIVATE, context="a", now=10.0) is True
    assert cache.get("tools/list", {}, context="a", now=10.999) == PRIVATE
    assert cache.get("tools/list", {}, context="a", now=11.0) is None
    assert len(cache) == 0


def test_a_private_result_is_never_reused_in_another_authorization_context() -> None:
    cache = Cache()
    cache.put("tools/list", {}, PRIVATE, context="token-a", now=0.0)
    assert cache.get("tools/list", {}, context="token-b", now=0.1) is None
    cache.put("tools/list", {}, PUBLIC, context="token-a", now=0.0)
    assert cache.get("tools/list", {}, context="token-b", now=0.1) == PUBLIC


@pytest.mark.parametrize("scope", [None, "shared", 1])
def test_a_scope_that_is_not_public_is_private(scope: object) -> None:
    cache = Cache()
    cache.put("tools/list", {}, {"ttlMs": 1000, "cacheScope": scope}, context="a", now=0.0)
    assert cache.get("tools/list", {}, context="b", now=0.1) is None


@pytest.mark.parametrize(
    ("method", "result"),
    [
        ("tools/call", PUBLIC),
        ("tools/list", {"ttlMs": 0}),
        ("tools/list", {"ttlMs": -5}),
        ("tools/list", {"ttlMs": True}),
        ("tools/list", {"ttlMs": "1000"}),
        ("tools/list", {}),
        ("tools/list", {**PUBLIC, "resultType": "input_required"}),
    ],
)
def test_what_may_not_be_kept_is_not(method: str, result: Payload) -> None:
    cache = Cache()
    assert cache.put(method, {}, result, context="a", now=0.0) is False
    assert cache.get(method, {}, context="a", now=0.0) is None


def test_every_cacheable_method_is_kept_and_pages_apart() -> None:
    cache = Cache()
    for method in CACHEABLE:
        for cursor in ("1", "2"):
            page = {**PRIVATE, "page": cursor}
            assert cache.put(method, {"cursor": cursor, "_meta": {"x": cursor}}, page, context="a", now=0.0)
    found = cache.get("prompts/list", {"cursor": "2", "_meta": {}}, context="a", now=0.5)
    assert found is not None
    assert found["page"] == "2"


def test_a_change_throws_away_what_it_concerns_and_nothing_else() -> None:
    cache = Cache()
    cache.put("tools/list", {}, PUBLIC, context="a", now=0.0)
    for uri in ("file:///src", "file:///src/lib.rs", "file:///docs"):
        cache.put("resources/read", {"uri": uri}, PUBLIC, context="a", now=0.0)
    assert cache.heard(PROMPTS_CHANGED, {}) == 0
    assert cache.heard(RESOURCE_UPDATED, {"uri": "file:///src/lib.rs"}) == 2
    assert cache.get("resources/read", {"uri": "file:///docs"}, context="a", now=0.1) == PUBLIC
    assert cache.heard(TOOLS_CHANGED, {}) == 1
    assert len(cache) == 1


def test_the_cache_is_bounded_and_keeps_what_is_used() -> None:
    cache = Cache(largest=2)
    for uri in ("a", "b"):
        cache.put("resources/read", {"uri": uri}, PUBLIC, context="x", now=0.0)
    cache.get("resources/read", {"uri": "a"}, context="x", now=0.1)
    cache.put("resources/read", {"uri": "c"}, PUBLIC, context="x", now=0.2)
    kept = [uri for uri in "abc" if cache.get("resources/read", {"uri": uri}, context="x", now=0.3)]
    assert kept == ["a", "c"]
