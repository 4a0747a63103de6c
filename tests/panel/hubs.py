"""A hub in a process of its own, which a test can stop, kill and start again at the same address."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import IO, Any, Self

from tidings.core.reminder import Payload
from tidings.hub.place import place_of, token_of

SCRIPT = Path(sys.executable).with_name("tidings")
DEADLINE = 30


class HubProcess:
    """`tidings up` with folders of its own; between `start` and `stop` it answers at `url`."""

    def __init__(self, folder: Path) -> None:
        self.environ = {
            **os.environ,
            "TIDINGS_HOME": str(folder / "home"),
            "XDG_RUNTIME_DIR": str(folder),
            "XDG_CONFIG_HOME": str(folder / "config"),
        }
        self.place = place_of(self.environ)
        self.folder = folder
        self.port = 0
        self._child: subprocess.Popen[str] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def token(self) -> str:
        return token_of(self.place)

    def start(self) -> Self:
        """Start it, at the port it had before if it had one."""
        command = [str(SCRIPT), "up", "--port", str(self.port), "--json"]
        self._child = subprocess.Popen(
            command, env=self.environ, stdout=subprocess.PIPE, text=True, cwd=self.folder
        )
        assert self._child.stdout is not None
        told = json.loads(first_line(self._child.stdout))
        self.port = int(told["url"].rpartition(":")[2])
        return self

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """End it, if it runs."""
        child, self._child = self._child, None
        if child is None:
            return
        child.send_signal(how)
        child.wait(DEADLINE)
        assert child.stdout is not None
        child.stdout.close()

    def ask(self, verb: str, path: str, body: object = None) -> Any:
        """What the hub answers to somebody who knows the token."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE)
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        try:
            connection.request(verb, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            read = answer.read()
            assert answer.status in (200, 204), (answer.status, read)
            return json.loads(read) if read else None
        finally:
            connection.close()

    def register(self, session_id: str, **more: object) -> None:
        self.ask("POST", "/v1/sessions", {"sessionId": session_id, **more})

    def remind(self, body: str, to: Payload, **more: object) -> str:
        answer: Payload = self.ask("POST", "/v1/reminders", {"body": body, "to": to, **more})
        return str(answer["reminderId"])

    def tell(self, session_id: str, stream: str, records: list[Payload], epoch: str = "e1") -> None:
        """Tell records of a session, in parts that the hub takes."""
        for start in range(0, len(records), 500):
            part = records[start : start + 500]
            asked = {"sessionId": session_id, "epoch": epoch, "stream": stream, "records": part}
            self.ask("POST", "/v1/sessions/records", asked)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()


def first_line(stream: IO[str]) -> str:
    """The first line of a stream that is JSON; what comes before it is for people."""
    for line in stream:
        if line.startswith("{"):
            return line
    raise AssertionError("the hub ended before it was up")
