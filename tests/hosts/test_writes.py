"""What the agent's own tools wrote is known by their arguments, in each host's spelling."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.hosts.test_reading import JSON
from tidings.core.reminder import Payload
from tidings.hosts.happening import HOSTS, Host
from tidings.hosts.writes import written

PATCH = "*** Begin Patch\n*** Update File: src/a.py\n@@\n-x\n+y\n*** Add File: b.txt\n+z\n*** End Patch"


def call(name: str, **arguments: object) -> Payload:
    return {"tool_name": name, "tool_input": arguments, "tool_response": "done"}


@pytest.mark.parametrize(
    ("host", "payload", "paths"),
    [
        (
            "claude-code",
            {"tool_calls": [call("Edit", file_path="/w/a.py"), call("Bash", command="touch b")]},
            ("/w/a.py",),
        ),
        ("claude-code", {"tool_calls": [call("Write", file_path="/w/a.py")] * 2}, ("/w/a.py",)),
        ("codex", call("apply_patch", command=PATCH), ("src/a.py", "b.txt")),
        ("gemini", call("write_file", file_path="/w/a.py"), ("/w/a.py",)),
        ("gemini", {"tool_name": "write_file", "tool_input": {"file_path": "/w/a.py"}}, ()),
        ("opencode", call("edit", filePath="a.py"), ("a.py",)),
        ("opencode", call("read", filePath="a.py"), ()),
    ],
)
def test_the_files_that_a_tool_wrote(host: Host, payload: Payload, paths: tuple[str, ...]) -> None:
    assert written(host, payload) == paths


@given(st.sampled_from(HOSTS), JSON, JSON)
def test_odd_arguments_never_raise(host: Host, calls: object, given: object) -> None:
    written(host, {"tool_calls": calls})
    for name in ("Edit", "apply_patch", "write_file", "edit"):
        written(host, {"tool_name": name, "tool_input": given, "tool_response": ""})
