"""Hook payloads as the hosts send them, by event; what a test cares for is given."""

from __future__ import annotations

from tidings.core.reminder import Payload
from tidings.hosts.happening import Host

WORKSPACE = "/workspace/harbor"


def claude(event: str, session: str = "s1", **more: object) -> Payload:
    common: Payload = {
        "session_id": session,
        "transcript_path": f"/nowhere/{session}.jsonl",
        "cwd": WORKSPACE,
        "hook_event_name": event,
        "permission_mode": "default",
        "prompt_id": "p1",
    }
    return {**common, **_OF_EVENT.get(event, {}), **more}


def codex(event: str, session: str = "s1", **more: object) -> Payload:
    common: Payload = {
        "session_id": session,
        "turn_id": "t1",
        "transcript_path": f"/nowhere/rollout-{session}.jsonl",
        "cwd": WORKSPACE,
        "hook_event_name": event,
        "model": "gpt",
        "permission_mode": "default",
    }
    return {**common, **_OF_EVENT.get(event, {}), **more}


def gemini(event: str, session: str = "s1", **more: object) -> Payload:
    common: Payload = {
        "session_id": session,
        "transcript_path": f"/nowhere/{session}.json",
        "cwd": WORKSPACE,
        "hook_event_name": event,
        "timestamp": "2026-11-15T12:00:00Z",
    }
    return {**common, **_OF_EVENT.get(event, {}), **more}


def opencode(event: str, session: str = "s1", **more: object) -> Payload:
    return {"hook_event_name": event, "session_id": session, "cwd": WORKSPACE, **more}


_CALL: Payload = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "call_1"}
_OWN: Payload = {"role": "user", "content": "<session_context>"}
_OF_EVENT: dict[str, Payload] = {
    "SessionStart": {"source": "startup"},
    "UserPromptSubmit": {"prompt": "go on"},
    "PreToolUse": _CALL,
    "PostToolUse": {**_CALL, "tool_response": "README.md"},
    "PostToolBatch": {"tool_calls": [{**_CALL, "tool_response": "README.md"}]},
    "Stop": {"stop_hook_active": False, "last_assistant_message": "done"},
    "SubagentStart": {"agent_id": "a1", "agent_type": "general-purpose"},
    "SessionEnd": {"reason": "other"},
    "BeforeAgent": {"prompt": "go on"},
    "BeforeModel": {
        "llm_request": {
            "model": "gemini",
            "messages": [{"role": "user", "content": "<session_context>"}],
            "config": {},
        }
    },
    "BeforeTool": {"tool_name": "run_shell_command", "tool_input": {"command": "ls"}},
    "AfterTool": {"tool_name": "run_shell_command", "tool_input": {}, "tool_response": {"llmContent": "x"}},
    "AfterAgent": {"prompt": "go on", "prompt_response": "done", "stop_hook_active": False},
}

MAKERS = {"claude-code": claude, "codex": codex, "gemini": gemini, "opencode": opencode}


def payload(host: Host, event: str, session: str = "s1", **more: object) -> Payload:
    return MAKERS[host](event, session, **more)
