"""A raw MCP server for the host's tests: JSON lines, no SDK, and every bad habit on demand.

Started with one argument, a JSON object of settings. Its tools do what a test asks: `push` writes lines
verbatim, `flood` writes many reminders, and so on; the answer comes after them, so that a test knows when
all was written. Every line that it reads goes to the file in `FAKE_LOG`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

SETTINGS: dict[str, Any] = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}
ERA = SETTINGS.get("era", "legacy")
LISTEN: dict[str, Any] = {}
EXTENSION = "dev.tidings/reminders"
ADVERTISED = {"emit": True, "propagate": ["session", "none"], "roleHints": ["system", "developer"]}
TOOLS = [
    {
        "name": name,
        "description": SETTINGS.get("describe", f"The tool {name}."),
        "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
    }
    for name in ("echo", "push", "flood", "fail", "slow", "deaf", "die", "progress", "rich", "ask", "end")
    + (("report_own_writes",) if "own_writes" in SETTINGS else ())
]


def write(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def send(message: dict[str, Any]) -> None:
    write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


def reminder(body: str, **fields: Any) -> dict[str, Any]:
    """A reminder, tagged for the open subscription if there is one."""
    meta = fields.pop("_meta", {})
    if LISTEN:
        meta = {
            "io.modelcontextprotocol/subscriptionId": LISTEN["id"],
            "dev.tidings/session": LISTEN["session"],
            **meta,
        }
    params: dict[str, Any] = {"reminder": {"id": f"r-{body}", "body": body, **fields}}
    return {"method": "notifications/reminder", "params": {**params, "_meta": meta} if meta else params}


def capabilities() -> dict[str, Any]:
    said: dict[str, Any] = {"tools": {"listChanged": True}, "resources": {"subscribe": True}}
    if SETTINGS.get("advertise", True):
        place = SETTINGS.get("place", "extensions")
        told = SETTINGS.get("advertised", ADVERTISED)
        said |= {"extensions": {EXTENSION: told}} if place == "extensions" else {"reminders": told}
    return said


def discovered() -> dict[str, Any]:
    return {
        "supportedVersions": ["2026-07-28"],
        "capabilities": capabilities(),
        "resultType": "complete",
        "ttlMs": 0,
        "cacheScope": "private",
    }


def initialized() -> dict[str, Any]:
    return {
        "protocolVersion": SETTINGS.get("version", "2025-11-25"),
        "capabilities": capabilities(),
        "serverInfo": {"name": "fake", "version": "1"},
    }


def listed(params: dict[str, Any]) -> dict[str, Any]:
    cache = SETTINGS.get("cache", {"ttlMs": 0, "cacheScope": "private"}) if ERA == "modern" else {}
    return {"tools": TOOLS, **cache, **({"resultType": "complete"} if ERA == "modern" else {})}


def answer(id: Any, result: dict[str, Any]) -> None:
    send({"id": id, "result": {**result, **({"resultType": "complete"} if ERA == "modern" else {})}})


def text(value: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": value}], **more}


def call(id: Any, params: dict[str, Any]) -> None:
    arguments = params.get("arguments", {})
    match params["name"]:
        case "echo":
            answer(id, text(arguments.get("text", "")))
        case "push":
            for each in arguments.get("reminders", ()):
                send(reminder(**each))
            for each in arguments.get("messages", ()):
                send(each)
            for line in arguments.get("lines", ()):
                write(line.encode("latin-1") + b"\n")
            answer(id, text("pushed"))
        case "flood":
            size = arguments.get("size", 0)
            key = arguments.get("key")
            more = {"dedupeKey": key} if key else {}
            count = arguments["count"]
            written = (reminder(f"{number}" + "x" * size, **more) for number in range(count))
            lines = [json.dumps({"jsonrpc": "2.0", **each}).encode() + b"\n" for each in written]
            for at in range(0, len(lines), 1000):
                sys.stdout.buffer.write(b"".join(lines[at : at + 1000]))
            answer(id, text("flooded"))
        case "fail":
            answer(id, text("no such file", isError=True))
        case "report_own_writes" if SETTINGS["own_writes"] == "refuse":
            answer(id, text("no", isError=True))
        case "report_own_writes" if SETTINGS["own_writes"] == "take":
            answer(id, text("known"))
        case "slow" | "report_own_writes":
            pass
        case "deaf":
            answer(id, text("deaf from now on"))
            while True:
                time.sleep(3600)
        case "die":
            write(b'{"jsonrpc":"2.0","method":"notifications/remin')
            print("out of memory", file=sys.stderr, flush=True)
            os._exit(3)
        case "progress":
            token = params["_meta"]["progressToken"]
            for number in (1, 2):
                said = {"progressToken": token, "progress": number, "total": 2, "message": f"step {number}"}
                send({"method": "notifications/progress", "params": said})
            answer(id, text("done"))
        case "rich":
            image = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
            answer(id, {"content": [image], "structuredContent": {"rows": 2}})
        case "ask":
            for number in range(arguments["count"]):
                send({"id": f"q{number}", "method": "sampling/createMessage", "params": {}})
            answer(id, text("asked"))
        case "end":
            answer(id, text("ending"))
            end_listen(arguments.get("how", "result"))


def end_listen(how: str) -> None:
    tag = {"io.modelcontextprotocol/subscriptionId": LISTEN.get("id")}
    if how == "result":
        send({"id": LISTEN["id"], "result": {"resultType": "complete", "_meta": tag}})
    elif how == "error":
        send({"id": LISTEN["id"], "error": {"code": -32000, "message": "gone"}})
    else:
        send({"method": "notifications/cancelled", "params": {"requestId": LISTEN["id"]}})
    LISTEN.clear()


def listen(id: Any, params: dict[str, Any]) -> None:
    if SETTINGS.get("listen") == "refuse":
        send({"id": id, "error": {"code": -32601, "message": "no such method"}})
        return
    asked = params["notifications"]
    LISTEN.update(id=id, session=asked.get(EXTENSION, {}).get("session"))
    tag = {"io.modelcontextprotocol/subscriptionId": id}
    send(
        {
            "method": "notifications/subscriptions/acknowledged",
            "params": {"notifications": asked, "_meta": tag},
        }
    )
    for each in SETTINGS.get("on_listen", ()):
        send(reminder(**each))
    if SETTINGS.get("listen") == "end":
        end_listen("result")


def opened() -> None:
    """What a server does once it is connected, by its settings."""
    for each in SETTINGS.get("greeting", ()):
        send(reminder(**each))
    if SETTINGS.get("then") == "die":
        os._exit(4)


def handle(message: dict[str, Any]) -> None:
    number, params = message.get("id"), message.get("params", {})
    match message.get("method"):
        case "server/discover":
            discover(number)
        case "initialize" if ERA == "legacy":
            if SETTINGS.get("initialize") != "silent":
                answer(number, initialized())
        case "initialize":
            data = {"supported": ["2026-07-28"], "requested": params.get("protocolVersion", "")}
            send({"id": number, "error": {"code": -32022, "message": "unsupported version", "data": data}})
        case "notifications/initialized":
            opened()
        case "tools/list":
            answer(number, listed(params))
        case "tools/call":
            call(number, params)
        case "resources/subscribe":
            answer(number, {})
        case "subscriptions/listen":
            listen(number, params)
        case _ if number is not None and "method" in message:
            send({"id": number, "error": {"code": -32601, "message": "unknown method"}})


def discover(id: Any) -> None:
    how = SETTINGS.get("discover", "answer" if ERA == "modern" else "error")
    if how == "answer":
        send({"id": id, "result": discovered()})
        opened()
    elif how == "error":
        send({"id": id, "error": {"code": -32600, "message": "initialize first"}})
    elif how == "second":
        SETTINGS["discover"] = "answer"
    elif how == "die":
        os._exit(5)


def main() -> None:
    if SETTINGS.get("start") == "child":
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
        Path(os.environ["FAKE_LOG"]).with_suffix(".pid").write_text(str(child.pid))
    if SETTINGS.get("start") == "stall":
        while True:
            time.sleep(3600)
    for line in sys.stdin.buffer:
        if "FAKE_LOG" in os.environ:
            with open(os.environ["FAKE_LOG"], "ab") as log:
                log.write(line)
        handle(json.loads(line))


main()
