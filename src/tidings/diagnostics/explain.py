"""From a code, as people type it, to its explanation: a value that prints as readable text.

`td.explain("HARN-RMD-005")` and `tidings explain` call this; the words are in the catalogue.
"""

from __future__ import annotations

import re
import textwrap

import msgspec

from tidings.diagnostics.catalogue import BY_CODE, CATALOGUE
from tidings.diagnostics.entry import Diagnostic
from tidings.errors import CallerError

_NUMBER = re.compile(r"(?:(?:HARN[-_ ]?)?RMD[-_ ]?)?(\d{1,3})")
_FACT_NUMBER = re.compile(r"(?:HARN[-_ ]?)?FACT[-_ ]?(\d{1,3})")
_OWN_NUMBER = re.compile(r"TDG[-_ ]?(\d{1,3})")
_FAMILIES = ((_NUMBER, "HARN-RMD"), (_FACT_NUMBER, "HARN-FACT"), (_OWN_NUMBER, "TDG"))
_WIDTH = 88


class UnknownCodeError(CallerError):
    """A code that the catalogue does not have; `near` are the ones that may be meant."""

    def __init__(self, code: str, near: tuple[str, ...]) -> None:
        self.code = code
        self.near = near
        super().__init__(f"unknown diagnostic code {code!r}; {_hint(near)}")


class Explanation(msgspec.Struct, frozen=True):
    """A diagnostic, explained. `str()` gives the text that `tidings explain` prints."""

    diagnostic: Diagnostic

    def __str__(self) -> str:
        known = self.diagnostic
        where = " and ".join(_REPORTERS[reporter] for reporter in known.reported_by)
        parts = (
            f"{known.code}: {known.title}",
            _wrapped(known.meaning),
            "This triggers it:",
            textwrap.indent(known.example.rstrip(), "    "),
            _wrapped(f"Fix: {known.fix}"),
            textwrap.indent(known.fixed.rstrip(), "    "),
            f"Severity: {known.severity}. Reported {where}.\nSpecified under: {known.section}.",
        )
        return "\n\n".join(parts)


_REPORTERS = {"runtime": "at run time", "lint": "by `tidings lint`"}


def explain(code: str) -> Explanation:
    """Explain a diagnostic code; lower case, "RMD-005", "FACT-005" and "5" are understood.

    Raises:
        UnknownCodeError: there is no such code; near matches are named.
    """
    known = BY_CODE.get(full_code(str(code)))
    if known is None:
        raise UnknownCodeError(str(code), _near(str(code)))
    return Explanation(known)


def full_code(code: str) -> str:
    """The code in full, for one that was typed in short; anything else in upper case."""
    upper = code.strip().upper()
    for pattern, family in _FAMILIES:
        if match := pattern.fullmatch(upper):
            return f"{family}-{int(match[1]):03d}"
    return upper


def _near(code: str) -> tuple[str, ...]:
    from difflib import get_close_matches  # only a mistake pays for loading it

    return tuple(get_close_matches(full_code(code), BY_CODE, n=3, cutoff=0.7))


def _hint(near: tuple[str, ...]) -> str:
    if near:
        return f"did you mean {', '.join(near)}?"
    return f"known codes are {CATALOGUE[0].code} to {CATALOGUE[-1].code}, see `tidings explain`"


def _wrapped(text: str) -> str:
    return textwrap.fill(text, _WIDTH, break_on_hyphens=False, break_long_words=False)
