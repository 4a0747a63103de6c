"""Wording that asks the model to hide a reminder from the user, recognised in English text.

A reminder may ask for tact; it may not ask for a secret. The phrases are built from small word
lists, each saying that the *reminder* is to be hidden: "do not tell the user about this" counts,
"do not tell the user that the tests pass" does not.
"""

from __future__ import annotations

import re

_NOT = (
    r"(?:never|do not|don't|dont|must not|mustn't|must never|should not|shouldn't|should never"
    r"|cannot|can't|may not|not to|refrain from|avoid)(?: ever| under any circumstances"
    r"| explicitly| directly)?"
)
_USER = (
    r"(?:the |your |any |an? )?(?:end[- ]?)?"
    r"(?:users?|humans?|persons?|people|customers?|clients?|anyone|anybody)"
)
_NOUN = (
    r"(?:reminder|message|note|notice|notification|instruction|hint|nudge|warning|information|info"
    r"|context|injection|system[- ]?reminder|system[- ]?message)s?"
)
_IT = (
    rf"(?:(?:any of |anything about )?(?:this|these|that|those|it|the)(?: system)? {_NOUN}"
    r"|any of this|any of it|this|it|that|these|anything)"
)
_STOP = r"(?= *(?:$|[.,;:!?)\]\u2013\u2014]|(?:and|or|but|unless|because|since|as|explicitly)\b))"
_WORDLESS = r"(?:mention|reveal|disclose|divulge|acknowledge)(?:ing)?"
_TELL = r"(?:tell|telling|inform|informing|notify|notifying|alert|alerting|show|showing|remind|reminding)"
_SAY = (
    r"(?:mention|reveal|disclose|divulge|expose|share|show|say|repeat|report|discuss|explain"
    r"|communicate|relay|leak|talk about|speak about)(?:ing)?"
)
_RECEIVED = r" that you (?:were|was|have|had|got|received|saw|read|know)\b"
_ABOUT = rf"(?:(?: about| of)? {_IT}{_STOP}|{_RECEIVED}|{_STOP})"
_TO_USER = rf" (?:to|with|from|in front of) {_USER}"
_SECRET = r"(?:an? |as an? |as )?(?:secret|to yourself|between us|between ourselves)"
_HIDDEN = r"(?:an? )?(?:secret|hidden|private|confidential|invisible|concealed|away|out of sight)"
_IN_REPLY = r" in (?:your|the|any) (?:repl(?:y|ies)|answers?|responses?|output)\b"
_LEARN = r"(?:know|see|learn|find out|hear|notice|be told|be informed|be shown|be made aware|be aware)"

_FORBIDDING = (
    rf"{_NOT} {_TELL} {_USER}{_ABOUT}",
    rf"{_NOT} (?:let|letting) {_USER} (?:know|see|notice|find out){_ABOUT}",
    rf"{_NOT} {_SAY} (?:{_IT}|(?:a word|anything)(?: (?:of|about) {_IT})?){_TO_USER}\b",
    rf"{_NOT} bring(?:ing)? {_IT} up{_TO_USER}\b",
    rf"{_NOT} {_WORDLESS} (?:having (?:seen|received|read) )?{_IT}(?:{_STOP}|{_IN_REPLY})",
    rf"{_USER} (?:must|should|need|needs)(?: not|n't| never) {_LEARN}{_ABOUT}",
)
_ASKING = (
    rf"keep(?:ing)? {_IT} {_SECRET}\b",
    rf"keep(?:ing)? {_IT}(?: {_HIDDEN})? from {_USER}\b",
    rf"(?:hide|hiding|conceal|concealing|withhold|withholding) {_IT} from {_USER}\b",
    rf"without (?:{_TELL} {_USER}|{_USER} (?:knowing|noticing|seeing))\b",
    rf"without {_SAY} {_IT}(?:{_TO_USER}\b|{_STOP})",
)
"""Harmless behind a negation in the same clause: "never delete a file without telling the user"."""

_PHRASES = re.compile(rf"\b(?:{'|'.join(_FORBIDDING)}|(?P<asking>{'|'.join(_ASKING)}))")
_NEGATED = re.compile(r"(?:\b(?:not|never|no|avoid)\b|n't\b)[^.,;:!?]*$")
_QUOTES = str.maketrans({"\u2019": "'", "\u2018": "'", "\u02bc": "'", "\uff07": "'"})
_MARKUP = re.compile(r"[*`~_\"\u200b-\u200d\u2060\ufeff\u00ad]")


def concealing_phrase(text: str) -> str | None:
    """The first phrase in `text` that asks to hide the reminder from the user, as it reads."""
    plain = " ".join(_MARKUP.sub("", text.translate(_QUOTES)).split()).lower()
    for match in _PHRASES.finditer(plain):
        if match["asking"] is None or not _NEGATED.search(plain, 0, match.start()):
            return match[0]
    return None
