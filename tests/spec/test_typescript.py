"""The declarations compile in strict mode, take the seeds' shapes and refuse wrong ones. No downloads."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from spec.generate import FOLDER
from spec.parts.schema import Pool
from spec.parts.typescript import declarations
from tests.spec import test_seeds

ROOT = Path(__file__).parents[2]
DEADLINE = 120
RIGHT = """
import type * as t from "./tidings";
const request: t.SessionInjectReminderRequest = {request};
const older: t.SessionRemindRequest = {remind};
const spec: t.ReminderSpec = {spec};
const event: t.ReminderEvent = {event};
const updates: t.SessionUpdate_Reminder[] = [{emitted}, {deduped}, {expired}];
const capabilities: t.AgentCapabilities = {capabilities};
const call: t.SessionCall = {call};
const pending: t.PendingInjection = {pending};
export function told(update: t.SessionUpdate_Reminder): string {{
  switch (update.sessionUpdate) {{
    case "reminder_emitted": return update.body;
    case "reminder_deduped": return update.droppedReminderIds.join();
    case "reminder_expired": return update.phase;
  }}
}}
export default [request, older, spec, event, updates, capabilities, call, pending];
"""
WRONG = """
import type * as t from "./tidings";
// @ts-expect-error no such mode
export const mode: t.SessionInjectReminderRequest = { body: "x", mode: "later" };
// @ts-expect-error the body is missing
export const bare: t.SessionInjectReminderRequest = {};
// @ts-expect-error unknown members are refused
export const more: t.ReminderSpec = { body: "x", ttl: 2 };
// @ts-expect-error a reason is no status
export const revoked: t.SessionRevokeReminderResponse = { status: "already_delivered", reminderId: "x" };
// @ts-expect-error the sources of a transcript are not those of an update
export const source: t.UpdateSource = "stdlib_provider";
"""
PENDING = {
    "kind": "reminder",
    "reminderId": "r-1",
    "mode": "finish_step",
    "body": "The build is red.",
    "tags": [],
    "roleHint": "system",
    "source": "bridge",
}


def compiler() -> list[str]:
    """How to start a TypeScript compiler that is here already; none: the test is skipped, and says why."""
    installed = [str(ROOT / folder / "node_modules" / ".bin") for folder in (".", ".interop")]
    for path in (None, *installed):
        if found := shutil.which("tsc", path=path):
            return [found]
    if npx := shutil.which("npx"):
        command = [npx, "--no-install", "--offline", "tsc"]
        done = subprocess.run([*command, "--version"], capture_output=True, timeout=DEADLINE, check=False)
        if done.returncode == 0:
            return command
    pytest.skip("no TypeScript compiler: neither `tsc` on PATH nor `npx --no-install tsc` works")


def compiled(folder: Path) -> str:
    """What the compiler says of every file in `folder`; empty when all is right."""
    files = sorted(str(path) for path in folder.glob("*.ts"))
    options = [
        "--noEmit",
        "--strict",
        "--exactOptionalPropertyTypes",
        "--target",
        "es2020",
        "--module",
        "es2020",
    ]
    done = subprocess.run(
        [*compiler(), *options, *files],
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=DEADLINE,
        check=False,
        env={**os.environ, "NO_COLOR": "1"},
    )
    return done.stdout + done.stderr if done.returncode else ""


def examples() -> str:
    values = {
        "request": test_seeds.REQUEST,
        "remind": test_seeds.REMIND["params"],
        "spec": test_seeds.PIPELINE[0],
        "event": test_seeds.EVENT,
        "emitted": test_seeds.EMITTED,
        "deduped": test_seeds.DEDUPED,
        "expired": test_seeds.EXPIRED,
        "capabilities": test_seeds.CAPABILITIES,
        "call": test_seeds.REMIND,
        "pending": PENDING,
    }
    return RIGHT.format(**{name: json.dumps(value) for name, value in values.items()})


def test_the_declarations_take_the_seeds_shapes_in_strict_mode(tmp_path: Path) -> None:
    shutil.copy(FOLDER / "tidings.d.ts", tmp_path)
    (tmp_path / "right.ts").write_text(examples())
    assert compiled(tmp_path) == ""


def test_the_declarations_refuse_wrong_shapes(tmp_path: Path) -> None:
    shutil.copy(FOLDER / "tidings.d.ts", tmp_path)
    (tmp_path / "wrong.ts").write_text(WRONG)
    assert compiled(tmp_path) == ""


def test_a_schema_becomes_an_interface_with_its_words() -> None:
    pool: Pool = {
        "Thing": {
            "type": "object",
            "description": "A thing.",
            "properties": {
                "name": {"type": "string", "description": "Its name."},
                "sizes": {"type": ["array", "null"], "items": {"enum": [1, 2]}, "default": [1]},
                "inner": {
                    "type": "object",
                    "properties": {"on": {"const": True}},
                    "additionalProperties": True,
                },
                "other": {"anyOf": [{"$ref": "#/$defs/Word"}, {"type": "object"}]},
            },
            "required": ["name"],
        },
        "Word": {"enum": ["a", "b"], "description": "A word.", "deprecated": True},
    }
    assert declarations(pool).split("\n", 3)[3] == (
        "/** A thing. */\n"
        "export interface Thing {\n"
        "  /** Its name. */\n"
        "  name: string;\n"
        "  /** @default [1] */\n"
        "  sizes?: (1 | 2)[] | null;\n"
        "  inner?: {\n"
        "    on?: true;\n"
        "    [extension: string]: unknown;\n"
        "  };\n"
        "  other?: Word | Record<string, unknown>;\n"
        "}\n"
        "\n"
        "/**\n"
        " * A word.\n"
        " * @deprecated\n"
        " */\n"
        'export type Word = "a" | "b";\n'
    )
