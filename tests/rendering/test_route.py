"""Routes: names, fall-backs, files, and flags that contradict each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

import tidings as td
from tidings.core.reminder import ROLE_HINTS
from tidings.rendering import route as routes
from tidings.rendering.plan import row_for


@pytest.fixture(autouse=True)
def _own_routes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "_added", {})


@pytest.mark.parametrize(
    ("name", "like"),
    [
        ("anthropic/claude-opus-4-8", "anthropic/claude-opus-4-8"),
        ("anthropic/claude-opus-4-8-20260101", "anthropic/claude-opus-4-8"),
        ("anthropic/claude-fable-5-2-preview", "anthropic/claude-fable-5-2"),
        ("anthropic/claude-9", "anthropic/*"),
        ("openai/gpt-4o-mini", "openai/gpt-4o"),
        ("openai/gpt-4oo", "openai/*"),
        ("openai-compatible/x/y", "openai-compatible/*"),
        ("plain/anything", "plain/*"),
    ],
)
def test_a_name_gives_its_route_or_the_nearest_known_one_under_its_own_name(name: str, like: str) -> None:
    known = {known.name: known for known in routes.catalogue()}
    assert td.route(name) == msgspec.structs.replace(known[like], name=name)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("antropic/claude-opus-5", "did you mean anthropic/claude-opus-5, "),
        ("gpt-5", "did you mean "),
        ("anthropic", "did you mean "),
        ("zzz", "names look like 'vendor/model'."),
        ("", "names look like 'vendor/model'."),
    ],
)
def test_an_unknown_route_is_refused_with_the_nearest_names(name: str, hint: str) -> None:
    with pytest.raises(td.RouteError) as caught:
        td.route(name)
    assert str(caught.value).startswith(f"unknown route {name!r}: {hint}")
    assert str(caught.value).endswith("For your own: td.Route(name=…, wire=…) or td.load_routes(file)")


def test_a_route_name_that_is_no_string_is_refused() -> None:
    wrong: Any = 5
    with pytest.raises(td.RouteError, match=r"a route name is a string such as .*; got 5"):
        td.route(wrong)


def test_a_route_with_an_unknown_wire_is_refused() -> None:
    wrong: Any = "smoke"
    with pytest.raises(td.RouteError) as caught:
        td.Route(name="own/x", wire=wrong)
    assert str(caught.value) == (
        "route 'own/x': `wire` must be one of anthropic, openai_chat, openai_responses, gemini, plain; "
        "got 'smoke'"
    )


@pytest.mark.parametrize("wire", ["anthropic", "gemini"])
def test_a_developer_role_on_a_wire_without_one_is_refused(wire: Any) -> None:
    with pytest.raises(td.RouteError, match=f"the {wire} wire has no developer role"):
        td.Route(name="own/x", wire=wire, prefers_role_developer=True)


def test_an_added_route_is_known_by_name_and_wins_over_a_built_in_one() -> None:
    own = td.add_route(td.Route(name="openai/gpt-5", wire="openai_chat", prefers_xml_scaffolding=True))
    assert td.route("openai/gpt-5") == own
    assert td.route("openai/gpt-5-mini") == msgspec.structs.replace(own, name="openai/gpt-5-mini")


def test_a_routes_file_adds_its_routes(tmp_path: Path) -> None:
    file = tmp_path / "routes.toml"
    file.write_text('[[route]]\nname = "mine/one"\nwire = "gemini"\nprompt_caching = true\n')
    own = td.Route(name="mine/one", wire="gemini", prompt_caching=True)
    assert td.load_routes(file) == (own,)
    assert td.route("mine/one") == own
    assert own in routes.catalogue()


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        ('[[route]]\nname = "a/b"\nwire = "smoke"\n', "smoke"),
        ('[[route]]\nname = "a/b"\nwire = "plain"\nloud = true\n', "loud"),
        ('[[route]]\nwire = "plain"\n', "name"),
        ('[[route]]\nname = "a/b"\nwire = "gemini"\nprefers_role_developer = true\n', "no developer role"),
        ('[[routes]]\nname = "a/b"\nwire = "plain"\n', "routes"),
        ("not toml at all", ""),
        (None, "No such file"),
    ],
)
def test_a_bad_routes_file_is_refused_by_name_and_adds_nothing(
    tmp_path: Path, content: str | None, wrong: str
) -> None:
    file = tmp_path / "routes.toml"
    if content is not None:
        file.write_text(content)
    before = routes.catalogue()
    with pytest.raises(td.RouteError) as caught:
        td.load_routes(str(file))
    assert str(caught.value).startswith(f"routes cannot be read from {file}: ")
    assert wrong in str(caught.value)
    assert routes.catalogue() == before


SEEDS_TABLE = {
    "developer": {"wire": "openai_chat", "prefers_role_developer": True, "prefers_xml_scaffolding": True},
    "anthropic": {"wire": "anthropic", "prefers_xml_scaffolding": True},
    "xml": {"wire": "gemini", "prefers_xml_scaffolding": True},
    "fallback": {"wire": "openai_chat"},
}
SLOTS = {
    "developer": ["developer"] * 4,
    "anthropic": ["system_xml", "system_xml", "block", "cached_block"],
    "xml": ["system_xml"] * 4,
    "fallback": ["system_text"] * 4,
}


@pytest.mark.parametrize("kind", SEEDS_TABLE)
def test_capability_comes_first_and_the_hint_second_as_the_seed_says(kind: str) -> None:
    flags: Any = SEEDS_TABLE[kind]
    route = td.Route(name="own/x", **flags)
    assert [row_for(route, hint).slot for hint in ROLE_HINTS] == SLOTS[kind]


def test_another_version_is_another_model_and_gets_the_safe_route_of_its_vendor() -> None:
    known = td.route("anthropic/claude-fable-5")
    assert td.route("anthropic/claude-fable-5-20260101").preserved_thinking == known.preserved_thinking
    for newer in ("anthropic/claude-fable-5-3", "anthropic/claude-opus-6", "anthropic/claude-opus-5-6-x"):
        assert td.route(newer).preserved_thinking
