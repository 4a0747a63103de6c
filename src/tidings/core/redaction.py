"""Secrets in foreign text become marks, before anything is stored or sent. Pure functions on str.

Read in this order: values that are known to be secret, private keys, headers, passwords in URLs, tokens of
known shapes, assignments to telling names, and last what looks drawn by lot. What is only long (git hashes,
UUIDs, paths, digests, symbol names) stays. A net with holes, not a wall: an unknown shape under a harmless
name passes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import pairwise

_SECRET_WORDS = frozenset({
    "AUTH", "APIKEY", "BEARER", "COOKIE", "CREDENTIAL", "CREDENTIALS", "CREDS", "DSN", "JWT", "KEY", "KEYS",
    "PASS", "PASSPHRASE", "PASSWD", "PASSWORD", "PAT", "PRIVATE", "PW", "SECRET", "SECRETS", "TOKEN",
    "TOKENS",
})  # fmt: skip
_SECRET_PARTS = re.compile(r"(?i)api_?key|access_?key|token|secret|passw|credential")
_SECRET_VALUE = re.compile(r"\w+://[^/\s:@]*:[^/\s@]+@|-----BEGIN [A-Z ]*PRIVATE KEY")

SHORTEST_KNOWN = 6
"""A known value shorter than this is not looked for: it would hit innocent words."""

_LONGEST_LINE = 4 * 1024
"""How far back from a cut the end of a line is looked for."""

_PLAIN_WORDS = frozenset(("true", "false", "none", "null", "undefined", "required", "optional", "default"))

_TOKEN_SHAPES = (
    r"gh[opsur]_[A-Za-z0-9]{30,255}",
    r"github_pat_\w{22,255}",
    r"gl(?:pat|ptt|oas|dt|rt|cbt|imt|ft|soat|agent)-[\w.-]{20,255}",
    r"xox[abeoprs](?:\.xox[a-z])?-[\w-]{10,255}",
    r"xapp-\d-[\w-]{10,255}",
    r"sk-(?:ant-|proj-|svcacct-|or-v1-)?[\w-]{20,255}",
    r"[rsp]k_(?:live|test)_\w{16,255}",
    r"whsec_[\w+/=-]{16,255}",
    r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Z0-9])",
    r"AIza[\w-]{35}",
    r"ya29\.[\w-]{20,500}",
    r"npm_[A-Za-z0-9]{36}",
    r"pypi-[\w-]{40,500}",
    r"hf_[A-Za-z0-9]{30,64}",
    r"SG\.[\w-]{16,64}\.[\w-]{16,64}",
    r"do[opr]_v1_[a-f0-9]{64}",
    r"dckr_pat_[\w-]{20,64}",
    r"eyJ[\w-]{8,4000}\.eyJ[\w-]{8,4000}(?:\.[\w-]{0,4000})?",
    r"AGE-SECRET-KEY-1[A-Z0-9]{40,80}",
    r"GOCSPX-[\w-]{20,64}",
    r"(?:dapi|key-)[a-f0-9]{32}(?![a-z0-9])",
    r"(?:shp(?:at|ca|pa|ss)|sbp|rubygems)_[a-fA-F0-9]{32,64}",
    r"pul-[a-f0-9]{40}",
    r"sq0(?:atp|csp|idp)-[\w-]{20,64}",
    r"hv[sbr]\.[\w-]{24,300}",
    r"dp\.(?:pt|st|ct|sa|scim|audit)\.\w{40,64}",
    r"[\w.~-]{3}\dQ~[\w.~-]{31,40}",
    r"[A-Za-z0-9]{14}\.atlasv1\.[\w-]{60,80}",
    r"[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,45}",
)
_TOKEN = re.compile(rf"(?<![\w-])(?:{'|'.join(_TOKEN_SHAPES)})", re.ASCII)
_HOOK = re.compile(
    r"((?:hooks\.slack\.com/(?:services|workflows)|discord(?:app)?\.com/api/webhooks|webhook\.office\.com/webhookb2)/)"
    r"[\w/@.-]{8,300}",
    re.ASCII,
)
"""Addresses that are a secret by themselves."""

_BASE64_LINES = r"(?:[ \t>|]*[A-Za-z0-9+/=]{16,128}[ \t]*\\?(?:\r?\n|\\n|$))"
_KEY_BLOCK = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    rf"(?:.{{0,20000}}?-----END [A-Z0-9 ]{{0,40}}PRIVATE KEY(?: BLOCK)?-----|(?:\s*{_BASE64_LINES})*)",
    re.DOTALL,
)
_KEY_TAIL = re.compile(
    rf"{_BASE64_LINES}*[^\n]{{0,128}}-----END [A-Z0-9 ]{{0,40}}PRIVATE KEY(?: BLOCK)?-----"
)

_HEADER = re.compile(
    r"(?i)(?P<name>\b(?:proxy-)?authorization\b[\"']?\s{0,4}[:=]\s{0,4}[\"']?)"
    r"(?P<scheme>(?:basic|bearer|token|digest|negotiate|apikey|aws4-hmac-sha256)\s+)?"
    r"(?P<value>[^\s\"',;]{3,4000}(?:[ ,;][^\n\"']{0,2000})?)"
)
_SECRET_HEADER = re.compile(
    r"(?im)(?P<name>\b(?:set-cookie|cookie|x-api-key|x-auth-token|x-gitlab-token|private-token)\b"
    r"[\"']?\s{0,4}:\s{0,4}[\"']?)(?P<value>[^\n\"']{3,4000})"
)
_BEARER = re.compile(r"(?i)(\bbearer\s+)[\w.~+/-]{16,4000}=*", re.ASCII)
_URL_PASSWORD = re.compile(r"(\b[A-Za-z][A-Za-z0-9+.-]{1,30}://[^\s/:@'\"]{0,200}:)[^\s/@'\"]{1,500}(?=@)")
_URL_USER = re.compile(r"(\bhttps?://)[A-Za-z0-9_-]{20,255}(?=@)")
_URL_QUERY = re.compile(
    r"(?i)([?&](?:access_?token|id_?token|refresh_?token|auth|api_?key|key|token|secret|password|passwd|sig"
    r"|signature|x-amz-signature|x-amz-credential|x-amz-security-token|client_secret|code)=)(?!\[redacted)[^\s&#\"'<>]{4,4000}"
)

_TELLING = (
    r"(?:secret|token|passw(?:or)?d|passphrase|api[_-]?key|access[_-]?key|private[_-]?key|signing[_-]?key"
    r"|encryption[_-]?key|credentials?|auth[_-]?key|webhook[_-]?key|client[_-]?secret|session[_-]?key"
    r"|passwort|kennwort|mot de passe|contraseña|(?<=[_-])pass(?![A-Za-z]))"
)
# A name is tried from its first character alone: so a long run of dashes or underscores is read once.
_ASSIGNED = re.compile(
    rf"(?i)(?P<name>(?<![A-Za-z0-9_.-])[A-Za-z0-9_.-]*?{_TELLING}(?:[_-][A-Za-z0-9_-]{{0,40}})?)"
    r"(?P<sign>[\"']?\s{0,4}(?:=>|:=|[:=])\s{0,4})"
    r"(?:(?P<quote>[\"'])(?P<quoted>[^\"'\n]{1,4000})(?P=quote)|(?P<bare>[^\s\"',;)\]}>]{1,4000}))"
)
_SAID = re.compile(
    rf"(?i)((?<![A-Za-z0-9_-])[A-Za-z0-9_-]*?{_TELLING}\s+is\s+[\"'`]?)(?=[^\s\"'`]*[\d!@#$%^&*])[^\s\"'`,;]{{6,500}}"
)
_OPTION = re.compile(
    rf"(?i)(?P<name>(?<![A-Za-z0-9-])[A-Za-z0-9]*-[A-Za-z0-9-]*?{_TELLING}[ =])"
    r"(?P<value>[^\s\"'-][^\s\"']{3,500})"
)

_GIVEN = re.compile(
    r"(?P<name>\bcurl\b[^\n|;]{0,500}?\s(?:-u|--user)[ =][\"']?[^\s:\"']{0,200}:"
    r"|\bmysql(?:dump|admin)?\b[^\n|;]{0,500}?\s-p(?=\S)"
    r"|\blogin\s+\S{1,200}\s+password\s+)(?!\[redacted|//)[^\s\"']{3,500}"
)
"""Passwords as programs are given them: curl -u, mysql -p, and the lines of .netrc."""

_CANDIDATE = re.compile(r"(?<![\w+/=.-])[A-Za-z0-9+/_-]{32,500}={0,2}(?![\w+/.-])", re.ASCII)
_HARMLESS_BEFORE = re.compile(r"(?:sha\d{1,3}[-:]|SHA\d{1,3}:|h1:|md5-|ssh-[a-z0-9-]+ |integrity[\"': ]+)$")
_HARMLESS = re.compile(r"[0-9a-fA-F-]+|sha\d{3}-.*|_?_[ZR].*|[A-Z0-9_]+|[a-z0-9_-]+|[A-Za-z_/-]+", re.ASCII)
_TURNS = 0.27
"""How often the kind of character changes, but for a capital before a small letter, as words begin: 0.45 by
lot, less than 0.25 in names and paths."""


def redact(text: str, known: Iterable[str] = ()) -> str:
    """`text` with each secret replaced by a mark that says what kind it was."""
    text = without_known(text, known)
    if "PRIVATE KEY" in text:
        text = _KEY_BLOCK.sub(_mark("private key"), text)
        text = _KEY_TAIL.sub(_mark("private key"), text)
    text = _HEADER.sub(_header, text)
    text = _SECRET_HEADER.sub(lambda m: m["name"] + _mark("header"), text)
    text = _BEARER.sub(lambda m: m[1] + _mark("token"), text)
    text = _HOOK.sub(lambda m: m[1] + _mark("url"), text)
    if "://" in text:
        text = _URL_PASSWORD.sub(lambda m: m[1] + _mark("password"), text)
        text = _URL_USER.sub(lambda m: m[1] + _mark("token"), text)
    text = _URL_QUERY.sub(lambda m: m[1] + _mark("query value"), text)
    text = _TOKEN.sub(_mark("token"), text)
    text = _ASSIGNED.sub(_assigned, text)
    text = _SAID.sub(lambda m: m[1] + _mark("value"), text)
    text = _OPTION.sub(
        lambda m: m["name"] + (m["value"] if _is_mark(m["value"]) else _mark("option")), text
    )
    text = _GIVEN.sub(lambda m: m["name"] + _mark("password"), text)
    return _CANDIDATE.sub(_drawn, text)


def without_known(text: str, known: Iterable[str]) -> str:
    """`text` with the values that are known to be secret replaced, and nothing else."""
    for value in sorted({one for one in known if len(one) >= SHORTEST_KNOWN}, key=len, reverse=True):
        text = text.replace(value, _mark("known value"))
    return text


def beginning(text: str, longest: int) -> str:
    """The beginning of a text, to be redacted: without the word or line that the cut goes through.

    Half of it may be half a secret, which nobody would recognise.
    """
    if len(text) <= longest:
        return text
    cut = text[:longest]
    least = max(longest - _LONGEST_LINE, 0)
    at = cut.rfind("\n", least)
    if at < 0:
        at = cut.rfind(" ", least)
    return cut[: at if at >= 0 else least]


def looks_secret(name: str, value: str) -> bool:
    """Whether a variable seems to hold something that must not be shown."""
    words = set(re.split(r"[^A-Z0-9]+", name.upper()))
    return bool(words & _SECRET_WORDS or _SECRET_PARTS.search(name) or _SECRET_VALUE.search(value))


def known_secrets(environment: Mapping[str, str]) -> tuple[str, ...]:
    """The values of an environment that seem to be secret, to be looked for literally."""
    return tuple(
        value for name, value in environment.items() if value.strip() and looks_secret(name, value)
    )


def _mark(kind: str) -> str:
    return f"[redacted {kind}]"


def _is_mark(text: str) -> bool:
    return text.startswith("[redacted")


def _header(found: re.Match[str]) -> str:
    return found["name"] + (found["scheme"] or "") + _mark("credentials")


def _assigned(found: re.Match[str]) -> str:
    value = found["quoted"] or found["bare"]
    if _is_mark(value) or not _is_literal(found["name"], value, quoted=found["quoted"] is not None):
        return found[0]
    quote = found["quote"] or ""
    return f"{found['name']}{found['sign']}{quote}{_mark('value')}{quote}"


def _is_literal(name: str, value: str, *, quoted: bool) -> bool:
    """Whether a value is one, and not code, a placeholder, or a name for it."""
    if value.lower() in _PLAIN_WORDS or value[0] in "$<{%&*" or set(value) <= set("*•.xX-_"):
        return False
    if quoted or name.isupper():
        return not value.isdigit() or len(value) >= SHORTEST_KNOWN
    mixed = any(c.isdigit() for c in value) and any(c.isalpha() for c in value)
    return len(value) >= SHORTEST_KNOWN and mixed and re.fullmatch(r"[\w+/=.~!@#%^-]+", value) is not None


def _drawn(found: re.Match[str]) -> str:
    """A candidate, redacted if it looks drawn by lot."""
    word = found[0]
    if _HARMLESS_BEFORE.search(found.string, max(0, found.start() - 24), found.start()):
        return word
    body = word.rstrip("=")
    if all(map(_HARMLESS.fullmatch, filter(None, body.split("/")))) or sum(map(str.isdigit, body)) < 3:
        return word
    return _mark("random value") if _turns(body) >= _TURNS else word


def _turns(word: str) -> float:
    kinds = ["d" if c.isdigit() else "u" if c.isupper() else "l" if c.islower() else "o" for c in word]
    changes = sum(a != b and (a, b) != ("u", "l") for a, b in pairwise(kinds))
    return changes / (len(word) - 1)
