"""What a result itself says of its failure: runtime errors and the signals of routing verifiers. Pure.

A call that was refused, cancelled or never run is no evidence about the code, and a `message` beside
`ok: true` is no error. Exit code 1 of grep and its like is an answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from tidings.agent.providers.quoting import in_ticks, without_colours
from tidings.agent.providers.review.commands import is_benign
from tidings.agent.providers.review.finding import Finding, finding
from tidings.agent.providers.situation import first, mapping, number, text

FAILED = frozenset(("error", "failed", "failure", "deadline", "timeout"))
"""What `status` says of a call that went wrong."""
UNTRIED = frozenset(("denied", "cancelled", "canceled", "not_run", "skipped", "pending", "revoked"))
"""What `status` says of a call that tells nothing about the code."""
ACCEPTED = frozenset(("accept", "accepted", "pass", "passed", "ok", "success", "succeeded", "true"))
"""What a verifier says when it is content."""
UNDECIDED = frozenset(("", "pending", "skipped", "not_run", "unknown", "none", "abstain", "abstained"))
"""What a verifier says when it has no opinion: no evidence."""

SIGNALS = ("verifier_signals", "verifier_outcome")
"""Where routing verifiers say what they think: several of them, or one."""

DEPTH = 8
"""How deep verifier signals are looked for."""
_WIDTH = 500
_TELLING = re.compile(r"^(?:\w+\.)*\w*(?:Error|Exception|Interrupt)\b(?:: .*)?$")
_LOUD = re.compile(r"\b(?:fatal|error|panicked at|command not found|no such file)\b", re.IGNORECASE)
_HEADER = re.compile(r"^\[(?:exit code|ended by|killed)[^\]]*\]$|^\((?:no output)\)$")
_TEXT_KEYS = ("text", "output", "stdout", "stderr", "observation", "content", "log")
_OUTCOME_KEYS = ("outcome", "status", "verdict", "decision", "result", "signal", "passed", "accepted", "ok")


def output_of(observation: Mapping[str, object]) -> str:
    """The text that a tool gave: of `result`, `observation` and `error`, in that order, each once."""
    result = observation.get("result")
    parts = (
        [_text(result)] if not isinstance(result, Mapping) else [_text(result.get(k)) for k in _TEXT_KEYS]
    )
    parts += [_text(observation.get(key)) for key in ("observation", "output", "stdout", "stderr")]
    parts += [_text(place.get("error")) for place in (mapping(result), observation)]
    return "\n".join(dict.fromkeys(part for part in parts if part.strip()))


def exit_code(observation: Mapping[str, object]) -> int | None:
    """The exit code of the command, if the observation has one."""
    result = mapping(observation.get("result"))
    places = (result, mapping(result.get("data")), observation)
    keys = ("exit_code", "exitCode", "returncode", "exit_status")
    code = number(first(*(place.get(key) for place in places for key in keys)))
    return int(code) if code is not None and code == code // 1 else None


def is_untried(observation: Mapping[str, object]) -> bool:
    """Whether the call was refused, cancelled or never run."""
    return True in [_word(place.get("status")) in UNTRIED for place in _places(observation)]


def ran_out_of_time(observation: Mapping[str, object]) -> bool:
    """Whether the tool was stopped before it was done."""
    late = any(_word(place.get("status")) in ("deadline", "timeout") for place in _places(observation))
    return late or any(place.get("timed_out") is True for place in _places(observation))


def runtime_errors(observation: Mapping[str, object], command: str, provenance: str) -> Iterator[Finding]:
    """At most one finding: the tool says that it failed, and the most telling line of why."""
    if is_untried(observation) or not failed(observation):
        return
    code = exit_code(observation)
    if code == 1 and is_benign(command):
        return
    said = next((words for place in _places(observation) if (words := _said(place))), "")
    why = telling(said or output_of(observation))
    prefix = f"exit code {code}" if code else ""
    summary = ": ".join(part for part in (prefix, why) if part) or "the tool reported a failure"
    yield finding("runtime_error", provenance, summary)


def telling(output: str) -> str:
    """The line of `output` that says most: an exception's last line, a loud line, else the last."""
    lines = [line.strip() for line in without_colours(output[-32_768:]).split("\n")]
    lines = [line for line in lines if line and not _HEADER.match(line)]
    for pattern, order in ((_TELLING, reversed(lines)), (_LOUD, iter(lines))):
        if (line := next((line for line in order if pattern.search(line)), None)) is not None:
            return line
    return lines[-1] if lines else ""


def verifier_signals(value: object, path: str = "", depth: int = 0) -> Iterator[Finding]:
    """A finding for each routing verifier that did not accept, wherever it stands in the payload."""
    if depth > DEPTH:
        return
    if isinstance(value, Mapping):
        for key, item in list(value.items())[:_WIDTH]:
            place = f"{path}.{key}" if path else str(key)
            if key == SIGNALS[0]:
                yield from _signals(item, place)
            elif key == SIGNALS[1]:
                yield from _signal(item, "", place)
            else:
                yield from verifier_signals(item, place, depth + 1)
    elif isinstance(value, (list, tuple)):
        for at, item in enumerate(value[:_WIDTH]):
            yield from verifier_signals(item, f"{path}[{at}]", depth + 1)


def _signals(value: object, path: str) -> Iterator[Finding]:
    if isinstance(value, Mapping) and not any(key in value for key in _OUTCOME_KEYS):
        for name, item in list(value.items())[:_WIDTH]:
            yield from _signal(item, str(name), path)
    else:
        items = value[:_WIDTH] if isinstance(value, (list, tuple)) else (value,)
        for at, item in enumerate(items):
            yield from _signal(item, "", f"{path}[{at}]" if isinstance(value, (list, tuple)) else path)


def _signal(item: object, name: str, path: str) -> Iterator[Finding]:
    fields = mapping(item)
    said = first(*(fields.get(key) for key in _OUTCOME_KEYS)) if fields else item
    outcome = _word(said) if isinstance(said, (str, bool)) else ""
    if outcome in ACCEPTED or outcome in UNDECIDED:
        return
    who = name or text(first(fields.get("verifier"), fields.get("name"), fields.get("id"))) or "verifier"
    why = text(
        first(fields.get("reason"), fields.get("message"), fields.get("detail"), fields.get("summary"))
    )
    verdict = "rejected" if outcome == "false" else outcome
    yield finding("verifier", path, f"{who}: {verdict}" + (f": {why}" if why else ""))


def failed(observation: Mapping[str, object]) -> bool:
    """Whether the result says that the tool failed."""
    places = _places(observation)
    fine = [place.get(key) for place in places for key in ("ok", "success")]
    if True in [word is False for word in fine]:
        return True
    if True in [place.get(key) is True for place in places for key in ("is_error", "isError")]:
        return True
    if True in [word is True for word in fine]:
        return False
    return any(_word(place.get("status")) in FAILED or _said(place, ("error",)) for place in places)


def _said(place: Mapping[str, object], keys: tuple[str, ...] = ("error", "message")) -> str:
    for key in keys:
        value = place.get(key)
        words = text(value) or text(first(*(mapping(value).get(k) for k in ("message", "text", "reason"))))
        if words:
            return words
    return ""


def _places(observation: Mapping[str, object]) -> tuple[Mapping[str, object], ...]:
    return observation, mapping(observation.get("result"))


def _word(value: object) -> str:
    return str(value).strip().lower() if isinstance(value, (str, bool)) else ""


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)):
        return "\n".join(_text(mapping(block).get("text", block)) for block in value[:_WIDTH])
    return ""


def provenance_of(command: str, tool: object) -> str:
    """Where the evidence comes from: the command, else the tool."""
    return f"output of {in_ticks(command or tool or 'a tool', 100)}"
