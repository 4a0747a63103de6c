"""The exit codes of every command. Data: the reference page prints it."""

from __future__ import annotations

FINE = 0
BAD_NEWS = 1
WRONG_QUESTION = 2
SIGNALLED = 128
"""What is added to the number of a signal that ended a command which serves somebody."""

CODES: dict[str, tuple[str, str]] = {
    f"{FINE}": (
        "fine",
        "also after Ctrl-C where that is how a command ends (`up`, `log follow`), and when `up` attached a "
        "folder to the running hub",
    ),
    f"{BAD_NEWS}": (
        "the answer is bad news",
        "`lint` found something, a log is damaged, `doctor` found a problem, no hub runs (`status`), the "
        "hub is full, a session has not answered (`revoke`, `clear`), a `tidings.toml` has problems "
        "(`up`), a folder was not attached (`detach`)",
    ),
    f"{WRONG_QUESTION}": (
        "the question was wrong",
        "an unknown option, code, path, session or reminder, a log that cannot be opened, no hub to ask, a "
        "missing extra; the message says what to do",
    ),
    f"{SIGNALLED} + n": (
        "signal n ended it",
        "commands that serve an editor or host (`acp`, `bridge`), and `watch` after Ctrl-C (130)",
    ),
}
"""Each code, what it means, and when it is given."""
