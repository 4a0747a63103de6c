"""The file of consents: private, whole, and seen by everybody at once."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tidings.mcp.conversation.consent import ConsentError, Consents, Grant
from tidings.mcp.conversation.store import ConsentStore, config_folder

GRANT = Grant(server="memory", target="t1", project="/srv/shop")


def test_a_grant_is_in_a_private_file_in_a_private_folder(tmp_path: Path) -> None:
    store = ConsentStore(tmp_path / "tidings" / "consent.json", clock=lambda: 42)
    kept = store.grant(GRANT)
    assert kept == Grant(server="memory", target="t1", project="/srv/shop", granted_at_ms=42)
    assert ConsentStore(store.path).read().grants == (kept,)
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(store.path.parent.stat().st_mode) == 0o700
    assert sorted(path.name for path in store.path.parent.iterdir()) == [
        "consent.json",
        "consent.json.lock",
    ]


def test_without_a_file_there_is_no_consent_and_reading_makes_none(tmp_path: Path) -> None:
    store = ConsentStore(tmp_path / "consent.json")
    assert store.read() == Consents()
    assert list(tmp_path.iterdir()) == []


def test_the_key_is_made_once_and_stays(tmp_path: Path) -> None:
    store = ConsentStore(tmp_path / "consent.json")
    store.grant(GRANT)
    key = store.read().key
    store.revoke("memory")
    store.grant(GRANT)
    assert (len(key), store.read().key) == (64, key)


def test_a_revocation_of_another_process_is_seen_with_the_next_look(tmp_path: Path) -> None:
    ours, theirs = ConsentStore(tmp_path / "consent.json"), ConsentStore(tmp_path / "consent.json")
    ours.grant(GRANT)
    assert ours.read().grant_for("memory", "t1", "/srv/shop") is not None
    assert [grant.server for grant in theirs.revoke("memory")] == ["memory"]
    assert ours.read().grant_for("memory", "t1", "/srv/shop") is None


def test_revoking_in_one_project_gives_what_it_had_there(tmp_path: Path) -> None:
    store = ConsentStore(tmp_path / "consent.json", clock=lambda: 1)
    wide = store.grant(Grant(server="memory", target="t1"))
    assert store.revoke("memory", "/srv/shop") == (wide,)
    assert store.read().grant_for("memory", "t1", "/srv/shop") is None
    assert store.read().grant_for("memory", "t1", "/srv") == wide
    assert store.revoke("docs") == ()


@pytest.mark.parametrize("mode", [0o644, 0o660, 0o602])
def test_a_file_that_others_can_open_is_no_consent(tmp_path: Path, mode: int) -> None:
    store = ConsentStore(tmp_path / "consent.json")
    store.grant(GRANT)
    store.path.chmod(mode)
    with pytest.raises(ConsentError, match="nobody else can open: chmod 600"):
        ConsentStore(store.path).read()


def test_a_damaged_file_is_an_error_that_names_it_and_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "consent.json"
    path.write_text('{"grants": [')
    path.chmod(0o600)
    with pytest.raises(ConsentError, match=r"consent\.json': the consents cannot be read.*remove it"):
        ConsentStore(path).grant(GRANT)
    assert path.read_text() == '{"grants": ['


def test_a_folder_that_cannot_be_made_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConsentError, match="cannot be changed"):
        ConsentStore(tmp_path / "file" / "consent.json").grant(GRANT)


def test_who_listens_hears_of_every_change_until_it_ends(tmp_path: Path) -> None:
    store, heard = ConsentStore(tmp_path / "consent.json"), []
    end = store.on_change(lambda: heard.append(len(store.read().grants)))
    store.grant(GRANT)
    store.revoke("memory")
    end()
    end()
    store.grant(GRANT)
    assert heard == [1, 0]


CHILD = """
import sys
from tidings.mcp.conversation.consent import Grant
from tidings.mcp.conversation.store import ConsentStore
store = ConsentStore(sys.argv[1])
for number in range(10):
    store.grant(Grant(server=f"{sys.argv[2]}-{number}", target="t"))
"""


def test_processes_that_change_it_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "consent.json"
    children = [
        subprocess.Popen([sys.executable, "-c", CHILD, str(path), name]) for name in ("a", "b", "c")
    ]
    assert [child.wait(timeout=60) for child in children] == [0, 0, 0]
    names = {grant.server for grant in ConsentStore(path).read().grants}
    assert names == {f"{name}-{number}" for name in ("a", "b", "c") for number in range(10)}


def test_the_file_is_in_the_users_config_folder() -> None:
    assert config_folder({"XDG_CONFIG_HOME": "/srv/config"}) == Path("/srv/config/tidings")
    assert config_folder({"XDG_CONFIG_HOME": "relative"}) == Path.home() / ".config" / "tidings"
    assert os.path.isabs(ConsentStore().path)
