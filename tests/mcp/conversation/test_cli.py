"""`tidings consent`: who may see what, and what they were sent."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tidings.cli.main import app
from tidings.mcp.config import read_config
from tidings.mcp.conversation import ledger
from tidings.mcp.conversation.consent import target_of
from tidings.mcp.conversation.ledger import Sent, open_ledger
from tidings.mcp.conversation.store import ConsentStore

CONFIG = {"mcpServers": {"memory": {"command": "memory-server", "args": ["--token", "hunter2"]}}}
TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user with an empty config folder, in a project with one server."""
    project = tmp_path / "shop"
    project.mkdir()
    (project / ".mcp.json").write_text(json.dumps(CONFIG))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(project)
    return project


def consent(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["consent", *arguments], prog_name="tidings")
    return result.exit_code, TIME.sub("TIME", result.stdout), result.stderr


def target() -> str:
    return target_of(read_config(CONFIG, {})[0])


def test_nobody_has_consent_at_first(home: Path) -> None:
    assert consent("list") == (0, "", "")
    assert consent("ledger") == (0, "", "")
    assert not ConsentStore().path.exists()


def test_a_grant_is_for_this_project_and_the_message_alone(home: Path) -> None:
    code, out, _ = consent("grant", "memory")
    assert (code, out) == (
        0,
        f"memory (memory-server) may see the messages that you send, in {home}.\n"
        "Take it back with: tidings consent revoke memory\n",
    )
    grant = ConsentStore().read().grant_for("memory", target(), str(home))
    assert grant is not None
    assert grant.scopes == ("message",)
    assert ConsentStore().read().grant_for("memory", target(), str(home.parent)) is None
    assert consent("list") == (
        0,
        f"memory  message  in {home}  since TIME  never used  (memory-server)\n",
        "",
    )


def test_scopes_priority_and_everywhere_are_granted_by_name(home: Path) -> None:
    scopes = ["--scope", "message", "--scope", "history", "--scope", "assistant"]
    assert consent("grant", "memory", "--everywhere", "--priority", "3", *scopes)[0] == 0
    [grant] = ConsentStore().read().grants
    assert (grant.project, grant.priority, grant.scopes) == (None, 3, ("message", "history", "assistant"))


def test_arguments_of_a_server_are_never_shown(home: Path) -> None:
    shown = consent("grant", "memory"), consent("list", "--json"), consent("ledger", "--json")
    assert "hunter2" not in str(shown)
    assert b"hunter2" not in ConsentStore().path.read_bytes()
    assert b"hunter2" not in ledger.ledger_path().read_bytes()


def test_revoking_is_everywhere_or_in_one_project(home: Path) -> None:
    consent("grant", "memory", "--everywhere")
    assert consent("revoke", "memory", "--project", ".") == (
        0,
        f"memory sees nothing any more in {home}.\n",
        "",
    )
    assert ConsentStore().read().grant_for("memory", target(), str(home)) is None
    assert ConsentStore().read().grant_for("memory", target(), "/") is not None
    assert consent("revoke", "memory") == (0, "memory sees nothing any more.\n", "")
    assert ConsentStore().read().grants == ()


def test_the_ledger_tells_what_was_sent_and_when_consent_changed(home: Path) -> None:
    consent("grant", "memory")
    entry = Sent(
        server="memory",
        target=target(),
        event="conversation/userMessage",
        form="request",
        scopes=("message", "history"),
        project=str(home),
        session_id="s1",
        conversation_id="c",
        message_id="m",
        history=2,
        bytes=321,
        sha256="0123456789abcdef" * 4,
    )
    with open_ledger() as log:
        ledger.write(log, [entry])
        log.verify()
    consent("revoke", "memory")
    assert consent("ledger", "memory")[1] == (
        f"TIME  memory  granted  message  {home}\n"
        "TIME  memory  conversation/userMessage  message,history  321 bytes  sha256 0123456789abcdef…"
        f"  {home}\n"
        f"TIME  memory  revoked  message  {home}\n"
    )
    assert consent("ledger", "docs") == (0, "", "")
    [line] = consent("ledger", "--limit", "1", "--json")[1].splitlines()
    assert json.loads(line)["kind"] == "conversation.revoked"
    consent("grant", "memory")
    assert "last used TIME" in consent("list")[1]
    assert ledger.ledger_path().stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("grant", "docs"), "'.mcp.json' has no server 'docs'; it has memory"),
        (
            ("grant", "memory", "--scope", "all"),
            "unknown scope 'all'; known are message, history, assistant",
        ),
        (("grant", "memory", "--scope", "history"), "the scope `history` goes with `message`; grant both"),
        (("grant", "memory", "--everywhere", "--project", "."), "give --project or --everywhere, not both"),
        (("grant", "memory", "--config", "no.json"), "--config 'no.json' cannot be read: No such file"),
        (("revoke", "memory"), "'memory' has no consent that could be taken back"),
    ],
)
def test_a_wrong_question_is_answered_with_what_to_do(
    home: Path, arguments: tuple[str, ...], said: str
) -> None:
    code, out, error = consent(*arguments)
    assert (code, out) == (2, "")
    assert error.startswith(f"tidings: {said}")
    assert ConsentStore().read().grants == ()


def test_without_a_config_it_says_which_files_it_looked_for(home: Path) -> None:
    (home / ".mcp.json").unlink()
    said = "tidings: there is no .mcp.json or mcp.json here; name the file with --config\n"
    assert consent("grant", "memory") == (2, "", said)
    (home / "mcp.json").write_text("{")
    assert "'mcp.json' is not JSON" in consent("grant", "memory")[2]
