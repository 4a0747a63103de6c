"""The config file people know, with ours under one key; every problem named with its place."""

from __future__ import annotations

import pytest

from tidings.mcp.budget import Budget
from tidings.mcp.config import ConfigError, Server, read_config
from tidings.mcp.rules import DEFAULTS, Rule

ENVIRONMENT = {"TOKEN": "s3cret"}


def test_a_file_of_another_host_is_read_as_it_is() -> None:
    config = {
        "theme": "dark",
        "mcpServers": {
            "fs": {
                "command": "npx",
                "args": ["server-filesystem", "."],
                "env": {"A": "1"},
                "alwaysAllow": ["x"],
            },
            "ci": {
                "type": "http",
                "url": "http://127.0.0.1:1/mcp",
                "headers": {"Authorization": "Bearer ${TOKEN}"},
            },
            "off": {"command": "x", "disabled": True},
        },
    }
    assert read_config(config, ENVIRONMENT) == (
        Server(name="fs", command=("npx", "server-filesystem", "."), env={"A": "1"}),
        Server(name="ci", url="http://127.0.0.1:1/mcp", headers={"Authorization": "Bearer s3cret"}),
        Server(name="off", command=("x",), enabled=False),
    )


def test_our_own_settings_stand_under_one_key() -> None:
    ours = {
        "era": "legacy",
        "grants": ["wake_idle"],
        "budget": {"per_minute": 5},
        "rules": [{"on": "tools_changed"}],
        "tools": ["read_*"],
    }
    [server] = read_config({"mcpServers": {"s": {"command": "x", "tidings": ours}}}, {})
    assert server == Server(
        name="s",
        command=("x",),
        era="legacy",
        grants=frozenset({"wake_idle"}),
        budget=Budget(per_minute=5),
        rules=(Rule(on="tools_changed"), *DEFAULTS),
        tools=("read_*",),
    )


def test_secrets_are_not_in_what_is_shown() -> None:
    server = Server(name="s", url="u", headers={"Authorization": "Bearer s3cret"}, env={"KEY": "s3cret"})
    assert "s3cret" not in repr(server)


@pytest.mark.parametrize(
    ("config", "names"),
    [
        ([], '{"mcpServers": {name: …}}'),
        ({"mcpServers": []}, '{"mcpServers": {name: …}}'),
        ({"mcpServers": {"s": {}}}, "mcpServers.s: give either `command`"),
        ({"mcpServers": {"s": {"command": "x", "url": "u"}}}, "not both or none"),
        (
            {"mcpServers": {"s": {"command": 5}}},
            "mcpServers.s: Expected `str | null`, got `int` - at `$.command`",
        ),
        ({"mcpServers": {"s": {"command": "${NOPE}"}}}, "${NOPE} is not set"),
        ({"mcpServers": {"s": {"command": "x", "tidings": {"colour": 1}}}}, "unknown field `colour`"),
        (
            {"mcpServers": {"s": {"command": "x", "tidings": {"grants": ["root"]}}}},
            "known are propagate_all",
        ),
        (
            {"mcpServers": {"s": {"command": "x", "tidings": {"budget": {"per_minute": 0}}}}},
            "`per_minute` must be 1",
        ),
        (
            {"mcpServers": {"s": {"command": "x", "tidings": {"rules": [{"on": "x"}]}}}},
            "rule `on` must be one of",
        ),
    ],
)
def test_a_wrong_config_names_the_place_and_the_fix(config: object, names: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_config(config, {})
    assert names in str(caught.value)


def test_every_problem_is_named_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        read_config({"mcpServers": {"a": {}, "b": {"command": 1}, "c": {"command": "fine"}}}, {})
    assert "mcpServers.a:" in str(caught.value)
    assert "mcpServers.b:" in str(caught.value)


def test_a_default_stands_in_for_a_missing_variable() -> None:
    [server] = read_config({"mcpServers": {"s": {"command": "${NOPE:-npx}"}}}, {})
    assert server.command == ("npx",)
