"""A real `tidings acp` or `tidings bridge` process, talked to line by line, ended with the block."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any, Self

SCRIPT = Path(sys.executable).with_name("tidings")
DEADLINE = 60.0

Message = dict[str, Any]


class Process:
    """The command with pipes; every line that it prints is kept."""

    def __init__(self, *arguments: str, **environment: str) -> None:
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(("ANTHROPIC", "TIDINGS"))}
        self.child = subprocess.Popen(
            [str(SCRIPT), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**inherited, **environment},
        )
        self.lines: list[Message] = []
        self.methods: dict[Any, str] = {}
        self.errors: list[str] = []
        self._heard: SimpleQueue[Message | None] = SimpleQueue()
        self._threads = [
            threading.Thread(target=work, daemon=True) for work in (self._listen, self._complaints)
        ]
        for thread in self._threads:
            thread.start()

    def _listen(self) -> None:
        assert self.child.stdout is not None
        for line in self.child.stdout:
            self._heard.put(json.loads(line))
        self._heard.put(None)

    def _complaints(self) -> None:
        assert self.child.stderr is not None
        self.errors += [line.decode() for line in self.child.stderr]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.child.poll() is None:
            self.child.kill()
        self.child.wait(DEADLINE)
        for thread in self._threads:
            thread.join(DEADLINE)
        for stream in (self.child.stdin, self.child.stdout, self.child.stderr):
            assert stream is not None
            try:
                stream.close()
            except BrokenPipeError:
                continue

    def say(self, message: Message) -> None:
        assert self.child.stdin is not None
        self.child.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.child.stdin.flush()

    def begin(self, method: str, **params: Any) -> int:
        number = len(self.methods) + 1
        self.methods[number] = method
        self.say({"id": number, "method": method, "params": params})
        return number

    def heard(self, wanted: Callable[[Message], bool]) -> Message:
        """The first line that is `wanted`, among those kept or when it comes."""
        for line in self.lines:
            if wanted(line):
                return line
        while True:
            try:
                line_or_end = self._heard.get(timeout=DEADLINE)
            except Empty:
                raise TimeoutError(f"nothing came; heard {self.lines}, stderr {self.errors}") from None
            assert line_or_end is not None, f"the process ended: {self.errors}"
            self.lines.append(line_or_end)
            if wanted(line_or_end):
                return line_or_end

    def reply(self, number: int) -> Message:
        return self.heard(lambda m: "method" not in m and m.get("id") == number)

    def ask(self, method: str, **params: Any) -> Any:
        answer = self.reply(self.begin(method, **params))
        assert "error" not in answer, answer
        return answer["result"]

    def hang_up(self) -> int:
        """Close its stdin, take the lines that are left, and give its exit code."""
        assert self.child.stdin is not None
        self.child.stdin.close()
        while (line := self._heard.get(timeout=DEADLINE)) is not None:
            self.lines.append(line)
        return self.child.wait(DEADLINE)
