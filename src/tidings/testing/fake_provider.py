"""A model provider on 127.0.0.1 for tests: four vendors' wires over real HTTP, streaming included.

It answers each request with the next step of its script and keeps what it received. Requests that
the vendors refuse get the vendor's kind of 400, and use up no step, so that an illegal request fails
a test. What a client asks beside its work (a title, a suggestion) may be answered outside the script.
Standard library only; it holds no secrets: keys are never kept.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Mapping, Set
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import SHUT_RDWR, socket
from threading import Event, Lock, Thread
from types import TracebackType

import msgspec

from tidings.core.reminder import Payload
from tidings.testing.fake_anthropic import FakeAnthropic
from tidings.testing.fake_gemini import FakeGemini
from tidings.testing.fake_openai_chat import FakeOpenAIChat
from tidings.testing.fake_openai_responses import FakeOpenAIResponses
from tidings.testing.fake_steps import DEADLINE, Call, Frame, Gate, Refuse, Say, Speaker, Step

__all__ = ["Call", "FakeProvider", "Gate", "Received", "Refuse", "Say"]

_SECRET_HEADERS = ("x-api-key", "authorization", "x-goog-api-key", "cookie")
_ENDS: tuple[tuple[str, str], ...] = (
    ("/v1/messages", "anthropic"),
    ("/chat/completions", "openai_chat"),
    ("/responses", "openai_responses"),
    (":generateContent", "gemini"),
    (":streamGenerateContent", "gemini"),
)
_SPEAKERS: dict[str, Callable[[], Speaker]] = {
    "anthropic": FakeAnthropic,
    "openai_chat": FakeOpenAIChat,
    "openai_responses": FakeOpenAIResponses,
    "gemini": FakeGemini,
}


class Received(msgspec.Struct, kw_only=True):
    """A request as it came in, without its keys; `left` is set when the client closed it early."""

    wire: str
    path: str
    headers: Mapping[str, str]
    body: Payload
    left: Event


class FakeProvider:
    """Serves `steps`, one per request, inside a `with` block.

    `url` is for the Anthropic and Gemini SDKs, `openai_url` for OpenAI's. A request for which `aside`
    gives a step is answered by it, unchecked, and kept in `asides`. Leaving the block raises what went
    wrong inside the server, if anything did.
    """

    def __init__(self, *steps: Step, aside: Callable[[Received], Step | None] | None = None) -> None:
        self.steps: deque[Step] = deque(steps)
        self.requests: list[Received] = []
        self.asides: list[Received] = []
        self._aside = aside
        self.refused: list[str] = []
        self._speakers = {wire: make() for wire, make in _SPEAKERS.items()}
        self._failures: list[BaseException] = []
        self._lock = Lock()
        self._server = _Server(self)

    @property
    def url(self) -> str:
        """The server's address."""
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def openai_url(self) -> str:
        """The address as OpenAI's SDK wants it."""
        return f"{self.url}/v1"

    @property
    def bodies(self) -> list[Payload]:
        """The bodies of all requests, legal or not, without the asides."""
        return [request.body for request in self.requests]

    def add(self, *steps: Step) -> None:
        """More steps at the end of the script."""
        self.steps.extend(steps)

    def __enter__(self) -> FakeProvider:
        self._thread = Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join(DEADLINE)
        self._server.hang_up()
        self._server.server_close()
        if error is None and self._failures:
            raise self._failures[0]

    def failed(self, error: BaseException) -> None:
        """Keep what went wrong in a handler until the block is left."""
        self._failures.append(error)

    def receive(self, request: Received, *, keys: Set[str]) -> tuple[Speaker, Step, int]:
        """Keep the request; what to do about it, and its number."""
        speaker = self._speakers[request.wire]
        beside = None if self._aside is None else self._aside(request)
        with self._lock:
            kept = self.requests if beside is None else self.asides
            kept.append(request)
            step = beside or self._step(speaker, request, keys)
            return speaker, step, len(self.requests) + len(self.asides)

    def _step(self, speaker: Speaker, request: Received, keys: Set[str]) -> Step:
        if not keys & set(speaker.key_headers):
            return Refuse(status=401, message=f"no key in {' or '.join(speaker.key_headers)}")
        problem = _problem(speaker, request.body)
        if problem is not None:
            self.refused.append(problem)
            return Refuse(message=problem)
        return self.steps.popleft() if self.steps else Refuse(message="the script has no step left")


def _problem(speaker: Speaker, body: Payload) -> str | None:
    try:
        return speaker.problem(body)
    except (KeyError, TypeError, AttributeError) as error:
        return f"the request has the wrong shape: {type(error).__name__} {error}"


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, provider: FakeProvider) -> None:
        self.provider = provider
        self.open: set[socket] = set()
        super().__init__(("127.0.0.1", 0), _Handler)

    def hang_up(self) -> None:
        """Close what clients still hold open; their handlers end by it."""
        for connection in tuple(self.open):
            _shut(connection)

    def handle_error(self, request: object, client_address: object) -> None:  # noqa: ARG002
        """Called inside the handler of an exception, by the standard library."""
        error = sys.exception()
        if error is not None:
            self.provider.failed(error)


def _shut(connection: socket) -> None:
    try:
        connection.shutdown(SHUT_RDWR)
    except OSError:  # it is closed already: what we wanted
        return


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = DEADLINE
    server: _Server

    def setup(self) -> None:
        super().setup()
        self.server.open.add(self.connection)

    def finish(self) -> None:
        self.server.open.discard(self.connection)
        super().finish()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: requests are kept."""

    def do_POST(self) -> None:
        self.close_connection = True
        path = self.path.partition("?")[0]
        wire = next((wire for end, wire in _ENDS if path.endswith(end)), None)
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        if wire is None:
            self._json(404, {"error": {"message": f"nothing is served at {path}"}})
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        speaker, step, number = self.server.provider.receive(
            request := Received(
                wire=wire,
                path=self.path,
                headers={name: value for name, value in headers.items() if name not in _SECRET_HEADERS},
                body=msgspec.json.decode(raw),
                left=Event(),
            ),
            keys=headers.keys() & set(_SECRET_HEADERS),
        )
        try:
            self._answer(speaker, step, request, number)
        except (ConnectionError, _Left):
            request.left.set()

    def _answer(self, speaker: Speaker, step: Step, request: Received, number: int) -> None:
        if isinstance(step, Refuse):
            self._refuse(speaker, step)
            return
        self._hold(step.before)
        if not speaker.streams(request.path, request.body):
            self._json(200, speaker.whole(step, request.body, number))
            return
        frames = speaker.frames(step, request.body, number)
        middle = next((at + 1 for at, frame in enumerate(frames) if frame.text), max(1, len(frames) // 2))
        self._begin_stream()
        self._send(frames[:middle])
        self._hold(step.midway)
        if step.cut == "drop":
            _shut(self.connection)
            return
        if step.cut == "garbage":
            self._send([Frame(b"event: message_start\ndata: {this is no json\n\n")])
        if step.cut is None:
            self._send(frames[middle:])
        self._send([Frame(b"")])

    def _refuse(self, speaker: Speaker, refuse: Refuse) -> None:
        if not refuse.in_stream:
            more = {} if refuse.retry_after is None else {"retry-after": refuse.retry_after}
            self._json(refuse.status, speaker.error(refuse), more)
            return
        self._begin_stream()
        self._send([speaker.error_frame(refuse), Frame(b"")])

    def _hold(self, gate: Gate | None) -> None:
        if gate is not None and not gate.hold(self.connection):
            raise _Left

    def _begin_stream(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.send_header("connection", "close")
        self.end_headers()

    def _send(self, frames: list[Frame]) -> None:
        """Each frame as a chunk; the empty one ends the stream."""
        for frame in frames:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(frame.data), frame.data))
        self.wfile.flush()

    def _json(self, status: int, body: Payload, headers: Mapping[str, str] | None = None) -> None:
        raw = msgspec.json.encode(body)
        self.send_response(status)
        more = {"content-type": "application/json", "content-length": str(len(raw)), "connection": "close"}
        for name, value in {**more, **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(raw)


class _Left(Exception):
    """The client has gone."""
