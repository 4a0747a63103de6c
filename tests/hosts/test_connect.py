"""`connect` and `disconnect` on files as people have them: merged, repeated, undone, refused."""

from __future__ import annotations

import json
import os
import shlex
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from typer.testing import CliRunner

from tests.hosts.test_settings import messy_files
from tidings.cli.connecting import manifest
from tidings.cli.connecting.checks import checks
from tidings.cli.connecting.places import Scope, monitor_targets, target
from tidings.cli.connecting.plan import Plan
from tidings.cli.connecting.wiring import Wish, carry_out, connecting, disconnecting
from tidings.cli.doctor.finding import Here
from tidings.cli.main import app
from tidings.errors import CallerError
from tidings.hosts.happening import HOSTS, Host
from tidings.hosts.settings.edit import handlers
from tidings.hosts.settings.tree import parse
from tidings.hosts.settings.wiring import EVENTS, is_ours
from tidings.hub.place import Place

WITH_SETTINGS: tuple[Host, ...] = ("claude-code", "codex", "gemini")


class House:
    """A home folder, a project, and a hub's data folder, all of a test's own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environ: Mapping[str, str] = {
            "HOME": str(folder / "home"),
            "TIDINGS_HOME": str(folder / "data"),
        }
        self.place = Place(folder / "data", str(folder / "hub.socket"))
        (folder / "home").mkdir(exist_ok=True)
        (folder / "project").mkdir(exist_ok=True)

    def wish(self, host: Host, scope: Scope = "user", wake: bool = False) -> Wish:
        return Wish(host=host, scope=scope, folder=self.folder / "project", wake=wake)

    def path(self, host: Host, scope: Scope = "user") -> Path:
        return target(host, scope, self.folder / "project", self.environ).path

    def connect(self, host: Host, scope: Scope = "user", wake: bool = False) -> Plan:
        return self._do(connecting(self.wish(host, scope, wake), manifest.load(self.place), self.environ))

    def disconnect(self, host: Host, scope: Scope = "user") -> Plan:
        return self._do(disconnecting(self.wish(host, scope), manifest.load(self.place), self.environ))

    def _do(self, plans: Sequence[Plan]) -> Plan:
        carry_out(plans, self.place, manifest.load(self.place))
        return plans[0]

    def monitor(self) -> list[Path]:
        return [each.path for each in monitor_targets("user", self.environ)]

    def files(self) -> dict[str, bytes]:
        found = (path for path in self.folder.rglob("*") if path.is_file() and "data" not in path.parts)
        return {str(path.relative_to(self.folder)): path.read_bytes() for path in found}

    def folders(self) -> set[Path]:
        return {path for path in self.folder.rglob("*") if path.is_dir()}


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


@pytest.mark.parametrize("scope", ["user", "project"])
@pytest.mark.parametrize("host", HOSTS)
def test_what_connect_made_disconnect_takes_away(house: House, host: Host, scope: Scope) -> None:
    before, folders = house.files(), house.folders()
    assert house.connect(host, scope).change == "created"
    assert house.path(host, scope).exists()
    assert house.disconnect(host, scope).change == "removed"
    assert house.files() == before
    assert house.folders() - {house.place.home} == folders
    assert manifest.load(house.place) == manifest.Manifest()


@pytest.mark.parametrize("host", HOSTS)
def test_connecting_again_changes_nothing(house: House, host: Host) -> None:
    house.connect(host)
    before = house.files()
    assert house.connect(host).change == "unchanged"
    assert house.files() == before


@pytest.mark.parametrize("host", WITH_SETTINGS)
def test_every_event_calls_us_once(house: House, host: Host) -> None:
    house.connect(host)
    house.connect(host)
    found = handlers(parse(house.path(host).read_text()))
    assert [event for event, handler in found if is_ours(handler)] == list(EVENTS[host])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(messy_files())
def test_messy_settings_are_given_back_byte_for_byte(house: House, text: str) -> None:
    path = house.path("claude-code")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    house.connect("claude-code")
    house.connect("claude-code", wake=True)
    house.connect("claude-code")
    house.disconnect("claude-code")
    assert path.read_bytes() == text.encode()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(messy_files())
def test_what_the_user_changed_since_stays(house: House, text: str) -> None:
    path = house.path("gemini")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    house.connect("gemini")
    path.write_bytes(path.read_bytes() + b"\n// mine\n")
    house.disconnect("gemini")
    left = path.read_text()
    assert left.endswith("\n// mine\n")
    assert parse(left).plain() == parse(text).plain()


def test_hooks_of_the_user_in_the_same_events_stay(house: House) -> None:
    path = house.path("claude-code")
    path.parent.mkdir()
    own = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]}, "model": "opus"}
    path.write_text(json.dumps(own))
    house.connect("claude-code")
    changed = json.loads(path.read_text())
    changed["theme"] = "dark"
    path.write_text(json.dumps(changed))
    house.disconnect("claude-code")
    assert json.loads(path.read_text()) == {**own, "theme": "dark"}


def test_our_hooks_are_taken_out_even_when_nobody_remembers_them(house: House) -> None:
    house.connect("codex")
    (house.place.home / "connections.json").unlink()
    assert house.disconnect("codex").change == "changed"
    assert json.loads(house.path("codex").read_text()) == {}


def test_our_monitor_is_taken_away_even_when_nobody_remembers_it(house: House) -> None:
    house.connect("claude-code", wake=True)
    (house.place.home / "connections.json").unlink()
    house.disconnect("claude-code")
    assert [path.exists() for path in house.monitor()] == [False, False]


def test_a_new_command_takes_the_place_of_the_old_one(house: House) -> None:
    path = house.path("claude-code")
    path.parent.mkdir()
    path.write_text('{"model": "opus"}\n')
    house.connect("claude-code", wake=True)
    assert "asyncRewake" in path.read_text()
    assert house.connect("claude-code").change == "changed"
    assert "asyncRewake" not in path.read_text()
    house.disconnect("claude-code")
    assert path.read_text() == '{"model": "opus"}\n'


def test_with_wake_the_user_gets_a_plugin_whose_monitor_stays_beside_each_session(house: House) -> None:
    before, folders = house.files(), house.folders()
    house.connect("claude-code", wake=True)
    about, monitors = house.monitor()
    assert json.loads(about.read_text())["name"] == "tidings"
    [monitor] = json.loads(monitors.read_text())
    assert (monitor["name"], monitor["description"]) == ("tidings", "news from tidings")
    words = shlex.split(monitor["command"])
    assert words[1:] == ["hook", "claude-code", "--monitor", "--home", str(house.place.home)]
    made = house.files()
    house.connect("claude-code", wake=True)
    assert house.files() == made
    house.disconnect("claude-code")
    assert house.files() == before
    assert house.folders() - {house.place.home} == folders
    assert manifest.load(house.place) == manifest.Manifest()


def test_who_connects_again_without_wake_loses_the_monitor_and_keeps_the_hooks(house: House) -> None:
    house.connect("claude-code", wake=True)
    house.connect("claude-code")
    assert [path.exists() for path in house.monitor()] == [False, False]
    assert house.path("claude-code").exists()


def test_a_project_has_no_monitor_because_the_host_loads_none_from_there(house: House) -> None:
    house.connect("claude-code", "project", wake=True)
    assert set(house.files()) == {"project/.claude/settings.local.json"}
    house.disconnect("claude-code", "project")
    assert house.files() == {}


def test_disconnecting_a_project_leaves_the_users_monitor(house: House) -> None:
    house.connect("claude-code", wake=True)
    house.connect("claude-code", "project", wake=True)
    house.disconnect("claude-code", "project")
    assert [path.exists() for path in house.monitor()] == [True, True]


def test_a_plugin_of_that_name_that_is_not_ours_is_refused_and_nothing_is_changed(house: House) -> None:
    about = house.monitor()[0]
    about.parent.mkdir(parents=True)
    about.write_text('{"name": "mine"}')
    before = house.files()
    with pytest.raises(CallerError, match="is there and not ours; move it away first"):
        house.connect("claude-code", wake=True)
    house.connect("claude-code")
    house.disconnect("claude-code")
    assert house.files() == before


@pytest.mark.parametrize("host", HOSTS)
def test_no_token_and_no_path_of_this_machine_is_in_a_file_that_others_get(
    house: House, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    place = target(host, "project", house.folder / "project", house.environ)
    house.connect(host, "project")
    text = place.path.read_text()
    assert "Bearer" not in text
    assert (str(house.folder) in text) != place.shared


def test_a_link_is_followed_and_the_mode_is_kept(house: House, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    real.write_text("{}")
    real.chmod(0o600)
    path = house.path("claude-code")
    path.parent.mkdir()
    path.symlink_to(real)
    house.connect("claude-code")
    assert path.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o600
    house.disconnect("claude-code")
    assert real.read_text() == "{}"


def test_a_link_to_a_file_that_is_not_there_stays_a_link_to_it(house: House, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    path = house.path("claude-code")
    path.parent.mkdir()
    path.symlink_to(real)
    house.connect("claude-code")
    assert "PostToolBatch" in real.read_text()
    house.disconnect("claude-code")
    assert (path.is_symlink(), path.readlink(), real.exists()) == (True, real, False)


def test_a_file_that_its_owner_made_read_only_is_refused_and_left(house: House) -> None:
    path = house.path("claude-code")
    path.parent.mkdir()
    path.write_text('{"model": "opus"}\n')
    path.chmod(0o444)
    with pytest.raises(CallerError, match="is read-only; allow writing first: chmod u\\+w "):
        house.connect("claude-code")
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ('{"model": "opus"}\n', 0o444)


@pytest.mark.parametrize(
    ("host", "text", "told"),
    [
        (
            "claude-code",
            '{"model": "opus",',
            "line 1, column 18: a name in quotation marks, or } was expected",
        ),
        ("claude-code", "[]", "the file holds []; it must hold one object"),
        ("claude-code", '{"hooks": {"Stop": "mine"}}', "`hooks.Stop` is 'mine'; it must be a list"),
        ("claude-code", '{"disableAllHooks": true}', "switches hooks off: `disableAllHooks` is true"),
        ("codex", '{"version": 2, "hooks": {}}', "has version 2; known is 1: upgrade Tidings"),
        (
            "gemini",
            '{"hooksConfig": {"enabled": false}}',
            "`hooksConfig.enabled` is false; change that first",
        ),
        ("opencode", "export const Mine = 1\n", "is there and not ours; move it away first"),
    ],
)
def test_what_cannot_be_changed_safely_is_refused_and_left(
    house: House, host: Host, text: str, told: str
) -> None:
    path = house.path(host)
    path.parent.mkdir(parents=True)
    path.write_text(text)
    with pytest.raises(CallerError) as refused:
        house.connect(host)
    assert told in str(refused.value)
    assert str(path) in str(refused.value)
    assert path.read_text() == text


def test_settings_that_are_no_text_are_refused(house: House) -> None:
    path = house.path("codex")
    path.parent.mkdir()
    path.write_bytes(b"\xff\xfe{}")
    with pytest.raises(CallerError, match="is not UTF-8"):
        house.connect("codex")
    path.unlink()
    path.mkdir()
    with pytest.raises(CallerError, match="is no file of settings"):
        house.connect("codex")


def test_a_plugin_that_was_changed_is_not_removed(house: House) -> None:
    house.connect("opencode")
    path = house.path("opencode")
    path.write_text(path.read_text() + "// mine\n")
    with pytest.raises(CallerError, match="was changed since it was installed; remove it yourself"):
        house.disconnect("opencode")
    assert path.exists()


def test_a_host_that_cannot_be_woken_says_so(house: House) -> None:
    with pytest.raises(CallerError, match="gemini cannot be woken: the host has no way in from outside"):
        house.connect("gemini", wake=True)


def test_a_manifest_of_a_newer_version_is_refused(house: House) -> None:
    house.place.home.mkdir()
    (house.place.home / "connections.json").write_text('{"version": 9, "entries": []}')
    with pytest.raises(CallerError, match="has version 9; this Tidings knows 1: upgrade it"):
        house.connect("codex")


def run(house: House, *arguments: str) -> tuple[int, str]:
    here = os.getcwd()
    os.chdir(house.folder / "project")
    try:
        done = CliRunner().invoke(app, arguments, env=dict(house.environ), catch_exceptions=False)
    finally:
        os.chdir(here)
    return done.exit_code, done.output


def test_a_dry_run_shows_the_diff_and_writes_nothing(house: House) -> None:
    before = house.files()
    code, told = run(house, "connect", "claude-code", "--dry-run")
    assert code == 0
    assert told.splitlines()[0] == f"--- {house.path('claude-code')}"
    assert '+    "PostToolBatch": [' in told.splitlines()
    assert house.files() == before


def test_the_commands_say_what_they_did(house: House) -> None:
    path = house.path("codex", "project")
    code, told = run(house, "connect", "codex", "--project", "--json")
    answer = json.loads(told)
    assert (code, answer["path"], answer["change"], answer["dryRun"]) == (0, str(path), "created", False)
    assert "trust the new hooks" in answer["trust"]
    assert run(house, "connect", "codex", "--project")[1].startswith(f"{path}: unchanged\n")
    assert run(house, "disconnect", "codex", "--project") == (0, f"{path}: removed\n")
    assert run(house, "disconnect", "codex", "--project") == (0, f"{path}: nothing of ours\n")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("emacs",), "HOST is 'emacs'; give one of claude-code, codex, gemini, opencode"),
        (("codex", "--project", "--user"), "give --project or --user, not both"),
    ],
)
def test_wrong_questions_are_refused(house: House, arguments: tuple[str, ...], told: str) -> None:
    for command in ("connect", "disconnect"):
        code, output = run(house, command, *arguments)
        assert code == 2
        assert told in output


def findings(house: House) -> list[tuple[str, str]]:
    here = Here(place=house.place, folder=house.folder, running=False)
    return [(one.level, one.message) for one in checks(here)]


def test_the_doctor_sees_what_is_connected_and_what_no_longer_is(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    house.connect("claude-code")
    house.connect("opencode")
    house.connect("gemini")
    assert [level for level, _ in findings(house)] == ["ok", "ok", "ok"]
    claude, gemini = house.path("claude-code"), house.path("gemini")
    text = json.loads(claude.read_text())
    del text["hooks"]["Stop"]
    claude.write_text(json.dumps(text))
    gemini.write_text("{broken")
    house.path("opencode").unlink()
    told = dict.fromkeys(findings(house))
    assert ("problem", f"claude-code: {claude} no longer has a hook for Stop") in told
    assert ("problem", f"opencode: {house.path('opencode')} is gone") in told
    assert [level for level, _ in told] == ["problem"] * 3


def test_the_doctor_looks_after_the_monitor_too(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    house.connect("claude-code", wake=True)
    about, monitors = house.monitor()
    assert [level for level, _ in findings(house)] == ["ok", "ok", "ok"]
    about.unlink()
    text = monitors.read_text()
    monitors.write_text(text.replace(shlex.split(json.loads(text)[0]["command"])[0], "/nowhere/tidings"))
    assert findings(house)[1:] == [
        ("problem", f"claude-code: {about} is gone"),
        ("problem", f"claude-code: {monitors} no longer has the program /nowhere/tidings"),
    ]


@pytest.mark.parametrize("host", ["claude-code", "opencode"])
def test_the_doctor_says_how_to_connect_again_in_the_same_way(
    house: House, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    monkeypatch.setenv("HOME", house.environ["HOME"])
    for scope in ("user", "project"):
        house.connect(host, scope, wake=True)  # type: ignore[arg-type]
        house.path(host, scope).unlink()  # type: ignore[arg-type]
    here = Here(place=house.place, folder=house.folder, running=False)
    project = house.folder / "project"
    assert [one.fix for one in checks(here) if one.level == "problem"] == [
        f"tidings connect {host} --wake",
        f"cd {project} && tidings connect {host} --project --wake",
    ]


def test_the_doctor_names_agents_that_could_be_connected(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.which", lambda name: "/usr/bin/codex" if name == "codex" else None)
    assert findings(house) == [("note", "codex is installed and not connected")]
