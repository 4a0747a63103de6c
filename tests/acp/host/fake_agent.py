"""An ACP agent that does what its prompts say: raw JSON lines, no library, no model.

    python fake_agent.py CAPABILITIES [silent | die | null | version | garbage | refuse | chatty]

CAPABILITIES is the JSON of `agentCapabilities`. Every line that comes in is copied to the file FAKE_LOG. A
prompt is a script, one command a line (`COMMANDS`); the body of a reminder may be one too (`BODIES`).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys


class Fake:
    def __init__(self, capabilities, start):
        self.capabilities = capabilities
        self.start = start
        self.log = os.environ.get("FAKE_LOG")
        self.waiting = []
        self.revoked = []
        self.kept = []
        self.hanging = None
        self.asked = 0
        self.script = []

    def run(self):
        while (message := self.read()) is not None:
            self.take(message)

    def read(self):
        line = sys.stdin.readline()
        if not line:
            return None
        if self.log is not None:
            with open(self.log, "a") as log:
                log.write(line)
        return json.loads(line)

    def raw(self, text):
        sys.stdout.write(text + "\n")
        sys.stdout.flush()

    def write(self, **message):
        self.raw(json.dumps({"jsonrpc": "2.0", **message}))

    def result(self, number, result):
        self.write(id=number, result=result)

    def error(self, number, code, message, data=None):
        self.write(id=number, error={"code": code, "message": message, "data": data})

    def update(self, update, **more):
        self.write(method="session/update", params={"sessionId": "s1", "update": update, **more})

    def say(self, text):
        content = {"type": "text", "text": text}
        self.update({"sessionUpdate": "agent_message_chunk", "content": content})

    def take(self, message):
        method = message.get("method", "")
        if not method:
            return
        name = method.removeprefix("_").removeprefix("harn/").removeprefix("session/")
        handler = getattr(self, "on_" + name, None)
        if handler is None:
            self.error(message.get("id"), -32601, "Method not found", {"method": method})
        else:
            handler(message.get("id"), message.get("params") or {})

    def on_initialize(self, number, params):
        if self.start == "silent":
            return
        if self.start == "die":
            print("no key in the environment", file=sys.stderr, flush=True)
            os._exit(3)
        if self.start == "refuse":
            self.error(number, -32000, "log in first")
        elif self.start == "null":
            self.result(number, None)
        elif self.start == "version":
            self.result(number, {"protocolVersion": 2, "agentCapabilities": self.capabilities})
        else:
            if self.start == "garbage":
                self.raw("Welcome to the agent!")
                self.raw("")
                self.raw('{"jsonrpc": "2.0", "id": [], "result": {}}')
                self.raw('{"id": true, "result": {}}')
            if self.start == "chatty":
                self.raw("x" * (17 * 1024 * 1024))
            self.result(number, {"protocolVersion": 1, "agentCapabilities": self.capabilities})

    def on_new(self, number, params):
        self.update({"sessionUpdate": "available_commands_update", "availableCommands": []})
        self.result(number, {"sessionId": "s1"})

    def on_load(self, number, params):
        if params["sessionId"] != "s1":
            self.error(number, -32002, "Resource not found", {"sessionId": params["sessionId"]})
            return
        content = {"type": "text", "text": "what was said"}
        self.update({"sessionUpdate": "user_message_chunk", "content": content})
        self.result(number, {})

    def on_prompt(self, number, params):
        text = next(block["text"] for block in params["prompt"] if block["type"] == "text")
        answer = {"stopReason": "end_turn"}
        for line in text.splitlines():
            name, _, rest = line.partition(" ")
            if name == "hang":
                self.hanging = number
                return
            if name == "stop":
                answer["stopReason"] = rest
            elif name == "meta":
                answer["_meta"] = json.loads(rest)
            elif name == "refuse":
                self.error(number, -32603, rest)
                return
            elif name == "answer":
                self.raw(rest.replace("ID", str(number)))
                return
            elif name == "blocks":
                self.say(json.dumps(params["prompt"]))
            else:
                COMMANDS[name](self, rest)
        self.result(number, answer)

    def on_cancel(self, number, params):
        if self.hanging is not None:
            self.result(self.hanging, {"stopReason": "cancelled"})
            self.hanging = None

    def on_inject_reminder(self, number, params):
        body = params["body"]
        if body in BODIES:
            BODIES[body](self, number)
            return
        key = params.get("dedupeKey")
        same = [one for one in self.waiting if key is not None and one[1] == key]
        self.kept.append(f"r{len(self.kept) + 1}")
        self.waiting.append((self.kept[-1], key))
        self.result(number, {"reminderId": self.kept[-1], "dedupedCount": len(same)})

    on_remind = on_inject_reminder

    def on_pending_injections(self, number, params):
        rows = [{"kind": "reminder", "reminderId": one, "dedupeKey": key} for one, key in self.waiting]
        self.result(number, {"pendingCount": len(rows), "injections": [*rows, *self.script]})

    def on_revoke_reminder(self, number, params):
        wanted = params["reminderId"]
        if wanted in [one for one, _ in self.waiting]:
            self.waiting = [(one, key) for one, key in self.waiting if one != wanted]
            self.revoked.append(wanted)
            self.result(number, {"reminderId": wanted, "status": "revoked"})
        elif wanted in self.revoked:
            self.result(number, {"reminderId": wanted, "status": "already_revoked"})
        else:
            reason = "already_delivered" if wanted in self.kept else "unknown_reminder_id"
            self.error(number, -32602, "cannot be revoked", {"reason": reason, "reminderId": wanted})

    def on_clear_reminders(self, number, params):
        before = len(self.waiting)
        self.waiting = [one for one in self.waiting if one[1] != params.get("dedupeKey")]
        self.result(number, {"removedCount": before - len(self.waiting)})

    def on_inject(self, number, params):
        self.result(number, {"messageId": "m1", "heard": params["content"]})

    def on_authenticate(self, number, params):
        self.result(number, {})

    def ask(self, rest):
        method, _, params = rest.partition(" ")
        self.asked += 1
        own = f"a{self.asked}"
        self.write(id=own, method=method, params=json.loads(params or "{}"))
        while (message := self.read()) is not None:
            if message.get("id") == own and "method" not in message:
                told = {name: message[name] for name in ("result", "error") if name in message}
                self.say(json.dumps(told))
                return
            self.take(message)

    def deliver(self, rest):
        self.waiting = []

    def die(self, rest):
        for number in range(30):
            print(f"stack line {number}", file=sys.stderr)
        sys.stderr.flush()
        os._exit(int(rest))

    def orphan(self, rest):
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
        self.say(str(child.pid))
        os._exit(int(rest))

    def mute(self, rest):
        os.close(1)
        while self.read() is not None:
            pass
        os._exit(0)

    def stubborn(self, rest):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        self.say(f"pid {os.getpid()}")
        while True:
            signal.pause()


COMMANDS = {
    "say": Fake.say,
    "raw": Fake.raw,
    "ask": Fake.ask,
    "die": Fake.die,
    "mute": Fake.mute,
    "orphan": Fake.orphan,
    "deliver": Fake.deliver,
    "stubborn": Fake.stubborn,
    "update": lambda fake, rest: fake.update(json.loads(rest)),
    "params": lambda fake, rest: fake.write(method="session/update", params=json.loads(rest)),
    "size": lambda fake, rest: fake.raw("y" * int(rest)),
    "/compact": lambda fake, rest: fake.say("compacted"),
    "many": lambda fake, rest: [fake.say("z") for _ in range(int(rest))],
    "kill": lambda fake, rest: os.kill(os.getpid(), signal.SIGKILL),
}

BODIES = {
    "answer null": lambda fake, number: fake.result(number, None),
    "answer number": lambda fake, number: fake.result(number, {"reminderId": 7}),
    "answer blank": lambda fake, number: fake.result(number, {"reminderId": ""}),
    "answer nobody": lambda fake, number: fake.error(None, -32602, "whom do I answer"),
    "answer twice": lambda fake, number: [fake.result(number, {"reminderId": "r"}) for _ in range(2)],
    "answer never": lambda fake, number: None,
    "answer late": lambda fake, number: fake.script.append(number),
    "refuse": lambda fake, number: fake.error(number, -32602, "bad body", {"code": "HARN-RMD-002"}),
    "refuse oddly": lambda fake, number: fake.write(id=number, error={"code": "x", "message": 5}),
    "die": lambda fake, number: fake.die("7"),
}
COMMANDS["now"] = lambda fake, rest: [fake.result(n, {"reminderId": "late"}) for n in fake.script]


if __name__ == "__main__":
    Fake(json.loads(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "").run()
