"""Claims on sessions: held against other processes, given back, gone with the process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.acp.proxy.script import Script
from tidings.bridge.claims import FileClaims, NoClaims, claims_on
from tidings.errors import LogUnavailableError
from tidings.log import open_log

DEADLINE = 30
OTHER = """
import sys
from pathlib import Path
from tidings.bridge.claims import FileClaims
from tidings.bridge.rpc import RpcError
try:
    FileClaims(Path(sys.argv[1])).take(sys.argv[2])
except RpcError as error:
    sys.exit(error.data["reason"])
"""


def elsewhere(log: Path, session_id: str) -> str:
    """What another process that wants the session is told; nothing if it gets it."""
    command = [sys.executable, "-c", OTHER, str(log), session_id]
    done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE, check=False)
    return done.stderr.strip()


def test_a_session_is_claimed_by_one_process_until_it_is_given_back(tmp_path: Path) -> None:
    log = tmp_path / "log.db"
    claims = FileClaims(log)
    claims.take("s1")
    claims.take("s1")
    assert [elsewhere(log, "s1"), elsewhere(log, "s2")] == ["session_in_use", ""]
    claims.release("s1")
    assert elsewhere(log, "s1") == ""
    claims.take("s1")
    claims.close()
    assert elsewhere(log, "s1") == ""
    assert (tmp_path / "log.db.claims").stat().st_mode & 0o777 == 0o600


def test_a_log_in_memory_needs_no_claims_and_a_file_has_its_own(tmp_path: Path) -> None:
    assert isinstance(claims_on(open_log("memory:")), NoClaims)
    with open_log(tmp_path / "log.db") as log:
        assert isinstance(claims_on(log), FileClaims)


def test_a_place_where_claims_cannot_be_kept_is_named(tmp_path: Path) -> None:
    with pytest.raises(LogUnavailableError, match=r"log\.db\.claims cannot be opened: No such file"):
        FileClaims(tmp_path / "nowhere" / "log.db").take("s1")


def test_the_interposer_gives_a_closed_session_back(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    with open_log(path) as log:
        script = Script(log).open("s1")
        assert elsewhere(path, "s1") == "session_in_use"
        asked = script.editor("session/close", {"sessionId": "s1"})
        script.agent({"id": asked, "result": {}})
        assert elsewhere(path, "s1") == ""
