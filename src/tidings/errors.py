"""The error tree, split by whose fault it is. Everything raised on purpose is one of these.

TidingsError
├── CallerError (ValueError)        the calling code or its input is wrong
│   ├── DiagnosticError             a HARN-RMD or HARN-FACT code: .code, .problems
│   ├── DuplicateReminderError      the same client-chosen id with different content
│   ├── TranscriptError             a stored transcript that cannot be read
│   ├── RouteError                  an unknown or contradictory model route
│   ├── PlacementError              a placement the route's wire does not allow
│   ├── LogUsageError               a bad log address, topic, kind or cursor
│   └── … in their own packages: mailbox full, revoke refused, unknown event, bad registration,
│         bad reminder options, a tool's arguments, an unknown code to explain, a path to lint
├── ModelError                      a provider gave no usable answer (`tidings.agent.port`)
├── RpcError                        what a JSON-RPC peer is told instead of a result (`tidings.bridge.rpc`)
├── HostError                       an ACP agent did not do its part (`tidings.acp`)
├── MemoryStoreError                memories cannot be read or written (`tidings.memory.failure`)
├── FactsError                      the facts cannot be read or written (`tidings.recall.failure`)
├── LogError (OSError)              the event log cannot keep its promise right now
│   ├── LogUnavailableError         read-only, full, locked or closed: nothing was written
│   └── LogCorruptError             the hash chain or a record does not verify
└── SubscriberLaggedError           a subscriber was too slow: where to resume, what is gone
"""

from __future__ import annotations

import msgspec


class TidingsError(Exception):
    """Base of everything raised on purpose."""


class CallerError(TidingsError, ValueError):
    """The calling code or its input is wrong; the message names the field, the value and the fix."""


class Problem(msgspec.Struct, frozen=True):
    """One thing wrong with one field: its diagnostic code, the field, the value shown, the fix."""

    code: str
    field: str
    value: str
    message: str

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


class DiagnosticError(CallerError):
    """Input that breaks a documented rule. `code` is the first problem's code in field order."""

    def __init__(self, context: str, problems: tuple[Problem, ...]) -> None:
        self.context = context
        self.problems = problems
        self.code = problems[0].code
        super().__init__(f"{context}: " + "; ".join(str(problem) for problem in problems))


class DuplicateReminderError(CallerError):
    """A client-chosen reminder id that is pending already, with different content."""

    def __init__(self, reminder_id: str, differs: tuple[str, ...]) -> None:
        self.reminder_id = reminder_id
        self.differs = differs
        super().__init__(
            f"reminder id {reminder_id!r} is pending with a different {', '.join(differs)}; "
            "send the same content again, or choose a new id"
        )


class TranscriptError(CallerError):
    """A stored transcript that cannot be read."""


class RouteError(CallerError):
    """An unknown model route, or one whose capabilities contradict its wire."""


class PlacementError(CallerError):
    """A placement that the route's wire does not allow; the vendor would refuse the request."""


class LogUsageError(CallerError):
    """A bad log address, topic, kind or cursor."""


class LogError(TidingsError, OSError):
    """The event log cannot keep its promise right now."""


class LogUnavailableError(LogError):
    """The log is read-only, full, locked or closed. Nothing of the refused batch was written."""


class LogCorruptError(LogError):
    """A record or the hash chain does not verify: `topic` and `cursor` say where."""

    def __init__(self, message: str, *, topic: str = "", cursor: int = 0) -> None:
        self.topic = topic
        self.cursor = cursor
        super().__init__(message)


class SubscriberLaggedError(TidingsError):
    """A subscriber fell too far behind. Subscribe again from `resume_from` to miss nothing more.

    `missed` counts the records that can no longer be read; 0 means that nothing is lost.
    """

    def __init__(self, topic: str, *, resume_from: int, latest: int, missed: int = 0) -> None:
        self.topic = topic
        self.resume_from = resume_from
        self.latest = latest
        self.missed = missed
        lost = f"{missed} records are no longer kept" if missed else "nothing is lost"
        super().__init__(
            f"subscriber of {topic!r} is {latest - resume_from} records behind ({lost}); "
            f"subscribe again with from_cursor={resume_from}"
        )
