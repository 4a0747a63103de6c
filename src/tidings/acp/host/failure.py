"""What can go wrong between a host and its agent, split by whose fault it is.

HostError (TidingsError)            the agent's side
├── AgentStartError                 it cannot be started, or does not speak our protocol
├── AgentDiedError                  it is gone: .exit_code, .stderr
├── AgentDeadlineError              it does not answer in time (also a TimeoutError)
├── AgentAnswerError                it answered what the protocol does not allow
└── AgentRefusedError               it answered with an error: .code, .message, .data
CallerError                         the caller's side
├── NotAdvertisedError              the agent never said that it can do this
├── BeyondError                     a value outside what the agent advertised: .field, .value, .allowed
├── BusyError                       a prompt is in flight, or too much waits
└── HostClosedError                 the host was stopped already
"""

from __future__ import annotations

from tidings.core.producers import shown
from tidings.errors import CallerError, TidingsError


class HostError(TidingsError):
    """The agent did not do its part."""


class AgentStartError(HostError):
    """The agent cannot be started, or does not speak our version of the protocol."""


class AgentDiedError(HostError):
    """The agent is gone: `exit_code` (None when it only closed its output) and its last words, `stderr`."""

    def __init__(self, doing: str, exit_code: int | None, stderr: str) -> None:
        self.exit_code = exit_code
        self.stderr = stderr
        how = "closed its output" if exit_code is None else _ended(exit_code)
        last = f"; its last words: {stderr}" if stderr else "; it wrote nothing to stderr"
        super().__init__(f"{doing}: the agent {how}{last}")


def _ended(exit_code: int) -> str:
    return f"was ended by signal {-exit_code}" if exit_code < 0 else f"exited with code {exit_code}"


class AgentDeadlineError(HostError, TimeoutError):
    """The agent did not answer in time; a late answer is noted in `host.notes`."""

    def __init__(self, doing: str, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(f"{doing}: no answer within {seconds:g} seconds")


class AgentAnswerError(HostError):
    """The agent answered, and what it answered is not what the protocol promises."""

    def __init__(self, doing: str, expected: str, got: object) -> None:
        self.got = got
        super().__init__(f"{doing}: expected {expected}; got {shown(got)}")


class AgentRefusedError(HostError):
    """The agent answered with an error; `data` may carry a HARN code or a reason."""

    def __init__(self, doing: str, code: int, message: str, data: object = None) -> None:
        self.code = code
        self.message = message
        self.data = data
        super().__init__(f"{doing}: the agent refused with {code}: {message}")


class NotAdvertisedError(CallerError):
    """The agent never said that it can do this, and is not asked to find out."""


class BeyondError(CallerError):
    """A value that the agent does not take, and that cannot be lowered to one it does."""

    def __init__(self, field: str, value: str, allowed: tuple[str, ...]) -> None:
        self.field = field
        self.value = value
        self.allowed = allowed
        takes = ", ".join(allowed) or "none at all"
        super().__init__(
            f"`{field}` {value!r} is beyond what the agent advertises ({takes}); send one of these"
        )


class BusyError(CallerError):
    """A prompt is in flight, or too much waits for the agent already."""


class HostClosedError(CallerError):
    """The host was stopped; start another one."""
