"""`tidings hook HOST`: a hook payload from stdin to the hub's socket, and the host's answer to stdout.

Hosts start this for every event. So it imports no more than it must, nothing of Tidings itself, and can be
run by its path with `python -I -S`. The payload and the answer pass through unread. Whatever fails, a hub
that is down, a deadline, a broken payload: it prints the answer that changes nothing and exits with 0.
"""

import _signal  # type: ignore[import-not-found]  # cheaper by far than `signal`, and nothing else is needed
import _socket
import os
import sys
import time

HOSTS = ("claude-code", "codex", "gemini", "opencode")
SECONDS = 1.0
LONGEST = 64 * 1024 * 1024
NEUTRAL = b"{}"

_CALL = b'{"jsonrpc":"2.0","id":"hook","method":"%b","params":%b}\n'
_RESULT = b'{"jsonrpc":"2.0","id":"hook","result":'
_ANSWER = b'{"answer":'


class Late(Exception):
    """The deadline has passed."""


class Unusable(Exception):
    """Nobody answers, or not as expected."""


def main(arguments: list[str]) -> int:
    """Run the command; gives the exit code. It is never 2, which would make a host stop its agent."""
    options = read_options(arguments)
    if options is None:
        sys.stderr.write(f"tidings hook: give one of {', '.join(HOSTS)}, then --home DIR, --seconds N\n")
        return 1
    host, home, seconds = options
    try:
        until = _deadline(seconds)
        answer = drained(host, received(), socket_path(home, os.environ), until)
    except (Late, Unusable, OSError, ValueError):
        answer = NEUTRAL
    _write(answer + b"\n")
    return 0


def read_options(arguments: list[str]) -> tuple[str, str | None, float] | None:
    """The host, the hub's folder if it is named, and the deadline; None when they are wrong."""
    if not arguments or arguments[0] not in HOSTS or len(arguments) % 2 == 0:
        return None
    home, seconds = None, SECONDS
    for name, value in zip(arguments[1::2], arguments[2::2], strict=True):
        if name == "--home":
            home = value
        elif name == "--seconds" and value.replace(".", "", 1).isdecimal() and 0 < float(value) <= 60:
            seconds = float(value)
        else:
            return None
    return arguments[0], home, seconds


def _deadline(seconds: float) -> float:
    """From now on everything is over after so long; gives until when an answer is of use."""

    def late(*_: object) -> None:
        raise Late

    _signal.signal(_signal.SIGALRM, late)
    _signal.setitimer(_signal.ITIMER_REAL, seconds)
    return time.time() + seconds * 0.9


def received() -> bytes:
    """The payload, on one line.

    Raises:
        Unusable: it is no object, or too long.
    """
    parts, size = [], 0
    while part := os.read(0, 1 << 20):
        parts.append(part)
        size += len(part)
        if size > LONGEST:
            raise Unusable
    payload = b"".join(parts).strip()
    if not (payload.startswith(b"{") and payload.endswith(b"}")):
        raise Unusable
    return payload.replace(b"\n", b" ").replace(b"\r", b" ")


def socket_path(home: str | None, environ: "os._Environ[str] | dict[str, str]") -> str:
    """Where the hub of this user listens; `tidings.hub.place` decides it, this follows.

    One that was started where the folder for sockets is another is found by what it says of itself.

    Raises:
        Unusable: others could have put a socket there.
    """
    named = home or environ.get("TIDINGS_HOME")
    base = environ.get("XDG_DATA_HOME") or os.path.join(os.path.expanduser("~"), ".local", "share")
    folder = os.path.realpath(named or os.path.join(base, "tidings"))
    path = _usual_socket(folder, environ)
    return path if os.path.exists(path) else _told_socket(folder) or path


def _usual_socket(folder: str, environ: "os._Environ[str] | dict[str, str]") -> str:
    from zlib import crc32

    mark = crc32(folder.encode(errors="surrogateescape"))
    runtime, temporary = environ.get("XDG_RUNTIME_DIR"), environ.get("TMPDIR") or "/tmp"
    place = (
        os.path.join(runtime, "tidings") if runtime else os.path.join(temporary, f"tidings-{os.getuid()}")
    )
    if os.path.lexists(place):
        found = os.lstat(place)
        if found.st_uid != os.getuid() or found.st_mode & 0o170077 != 0o040000:
            raise Unusable
    return os.path.join(place, f"hub-{mark:08x}.socket")


def _told_socket(folder: str) -> str | None:
    """Where the running hub says that it listens, if what it says is this user's own."""
    try:
        with open(os.path.join(folder, "hub.json"), "rb") as state:
            own = os.fstat(state.fileno()).st_uid == os.getuid()
            told = state.read(1 << 16)
    except OSError:
        return None
    import json  # only who looks for the hub elsewhere pays for it

    try:
        path: str = json.loads(told)["socket"]
        found = os.lstat(path)
        own = own and found.st_uid == os.getuid() and found.st_mode & 0o170000 == 0o140000
        return path if own else None
    except (ValueError, LookupError, TypeError, OSError):
        return None


def drained(host: str, payload: bytes, path: str, until: float) -> bytes:
    """The host's answer.

    Raises:
        OSError: no hub listens.
        Unusable: it refused.
    """
    params = b'{"host":"%b","untilMs":%d,"event":%b}' % (host.encode(), int(until * 1000), payload)
    result = asked(path, b"hub/drain", params)
    if not result.startswith(_ANSWER):
        raise Unusable
    return result[len(_ANSWER) : -1]


def asked(path: str, method: bytes, params: bytes) -> bytes:
    """The result of one call, as it came.

    Raises:
        OSError: no hub listens.
        Unusable: it refused.
    """
    peer = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        peer.connect(path)
        peer.sendall(_CALL % (method, params))
        line = _line(peer)
    finally:
        peer.close()
    if not line.startswith(_RESULT) or not line.endswith(b"}"):
        raise Unusable
    return line[len(_RESULT) : -1]


def _line(peer: _socket.socket) -> bytes:
    parts, size = [], 0
    while True:
        part = peer.recv(1 << 18)
        parts.append(part)
        size += len(part)
        if part.endswith(b"\n"):
            return b"".join(parts).rstrip()
        if not part or size > LONGEST:
            raise Unusable


def _write(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
