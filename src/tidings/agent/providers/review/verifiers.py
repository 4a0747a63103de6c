"""The verification commands we know, and how each of them writes its failures. Data.

The patterns were read off real output (the fixtures of the tests). `details` name one problem each;
`fallbacks` and failing `totals` count only when no detail was found. A `guarded` detail is believed only if
the totals do not say that all is well: a passing test may print anything.
"""

from __future__ import annotations

import re

import msgspec

from tidings.agent.providers.review.finding import Source


class Pattern(msgspec.Struct, frozen=True):
    """One line that tells of a problem: groups `where`, `what`, `code` and `level`, as far as it has them.

    `near` is looked for in the next `after` lines, then in the `before` previous ones, for more groups.
    """

    line: re.Pattern[str]
    guarded: bool = False
    near: re.Pattern[str] | None = None
    after: int = 1
    before: int = 0
    near_required: bool = False
    source: Source | None = None


class Verifier(msgspec.Struct, frozen=True, kw_only=True):
    """A tool: the commands that start it and the shapes of its output.

    `totals` finds its summary lines and `bad` tells the failing ones; `nit` finds the codes that are
    warnings though the tool calls them errors; `head` is a line that names the file of those below.
    """

    id: str
    commands: tuple[str, ...]
    source: Source
    details: tuple[Pattern, ...] = ()
    fallbacks: tuple[Pattern, ...] = ()
    totals: re.Pattern[str] | None = None
    bad: re.Pattern[str] | None = None
    nit: re.Pattern[str] | None = None
    head: re.Pattern[str] | None = None
    wraps: bool = False


def _p(line: str, **more: object) -> Pattern:
    near = more.pop("near", None)
    found = re.compile(near) if isinstance(near, str) else None
    return msgspec.structs.replace(Pattern(re.compile(line), near=found), **more)


_AT_LINE = r"(?P<where>[^\s:()][^:()]*:\d+(?::\d+)?)"
_COMPILER = _p(
    rf"^{_AT_LINE}: (?:fatal )?(?P<level>error|warning): (?P<what>.+)$",
    near=r"^\s+symbol:\s+(?P<more>\S.*)$",
    after=4,
)

VERIFIERS: tuple[Verifier, ...] = (
    Verifier(
        id="pytest",
        commands=("pytest", "py.test"),
        source="test",
        details=(
            _p(r"^(?:FAILED|ERROR) (?P<where>\S+\.py(?:::.+?)?)(?: - (?P<what>.*))?$", guarded=True),
            _p(
                r"^E\s+(?P<what>(?:Syntax|Indentation|Tab|Name|Import|ModuleNotFound)Error: .+)$",
                guarded=True,
            ),
            _p(r"^(?:pytest|py\.test|__main__\.py): error: (?P<what>.+)$", guarded=True),
            _p(r"^ERROR: (?P<what>(?:file or directory )?not found: .+)$", guarded=True),
        ),
        fallbacks=(_p(r"^(?P<where>\S+\.py::\S.*?) (?P<what>FAILED|ERROR)\b", guarded=True),),
        totals=re.compile(r"^(?:=+ )?(?P<what>\d+ [a-z]+(?:, \d+ [a-z]+)* in [\d.]+s\b.*?)(?: =+)?$"),
        bad=re.compile(r"\b[1-9]\d* (?:failed|errors?)\b"),
    ),
    Verifier(
        id="ruff",
        commands=("ruff check", "ruff"),
        source="lint",
        details=(
            _p(
                r"^(?P<code>[A-Z]{1,5}\d{3,4}|invalid-syntax):? (?:\[\*\] )?(?P<what>.+)$",
                near=r"^\s*--> (?P<where>\S+)$",
                near_required=True,
            ),
            _p(
                r"^(?P<where>[^\s:]+:\d+:\d+): (?P<code>[A-Z]{1,5}\d{3,4}|invalid-syntax|SyntaxError):? "
                r"(?:\[\*\] )?(?P<what>.+)$"
            ),
        ),
        totals=re.compile(r"^(?P<what>Found \d+ errors?\b.*|All checks passed!)$"),
        bad=re.compile(r"^Found [1-9]"),
        nit=re.compile(r"^(?!E9|F5|F63|F7|F82|PLE)[A-Z]+\d+$"),
    ),
    Verifier(
        id="mypy",
        commands=("mypy", "dmypy"),
        source="typecheck",
        details=(_COMPILER,),
        totals=re.compile(r"^(?P<what>Found \d+ errors? in .*|Success: no issues found.*)$"),
        bad=re.compile(r"^Found [1-9]"),
    ),
    Verifier(
        id="pyright",
        commands=("pyright", "basedpyright"),
        source="typecheck",
        details=(_p(r"^\s*(?P<where>\S.*?:\d+:\d+) - (?P<level>error|warning): (?P<what>.+)$"),),
        totals=re.compile(r"^(?P<what>\d+ errors?, \d+ warnings?.*)$"),
        bad=re.compile(r"^[1-9]\d* error"),
    ),
    Verifier(
        id="go",
        commands=("go test", "go vet", "go build"),
        source="test",
        details=(
            _p(r"^(?:vet: )?(?P<where>\S+\.go:\d+:\d+): (?P<what>.+)$", source="typecheck"),
            _p(
                r"^\s*--- FAIL: (?P<where>\S+)",
                guarded=True,
                near=r"^\s+(?P<what>\w+_test\.go:\d+: .+)$",
                before=1,
            ),
            _p(r"^(?P<what>panic: .+)$", guarded=True),
        ),
        fallbacks=(_p(r"^FAIL\s+(?P<what>\S.*)$", guarded=True),),
        totals=re.compile(r"^(?P<what>(?:ok|FAIL)\s+\S+.*|PASS)$"),
        bad=re.compile(r"^FAIL"),
    ),
    Verifier(
        id="cargo",
        commands=("cargo check", "cargo test", "cargo nextest", "cargo clippy", "cargo build"),
        source="typecheck",
        details=(
            _p(
                r"^(?P<level>error|warning)(?:\[(?P<code>E\d+)\])?: (?P<what>.+)$",
                near=r"^\s*--> (?P<where>\S+)$",
                near_required=True,
            ),
            _p(
                r"^thread '(?P<where>[^']+)'.* panicked at (?P<at>.*?):?$",
                guarded=True,
                source="test",
                near=r"^(?P<what>\S.*)$",
            ),
            _p(r"^test (?P<where>\S.*?) \.\.\. FAILED$", guarded=True, source="test"),
        ),
        fallbacks=(_p(r"^error: (?P<what>.+)$"),),
        totals=re.compile(r"^(?P<what>test result: (?:ok|FAILED)\..*)$"),
        bad=re.compile(r"FAILED"),
    ),
    Verifier(
        id="tsc",
        commands=("tsc", "vue-tsc"),
        source="typecheck",
        details=(
            _p(r"^(?P<where>\S.*?)(?:: | - )error (?P<code>TS\d+): (?P<what>.+)$"),
            _p(r"^error (?P<code>TS\d+): (?P<what>.+)$"),
        ),
        totals=re.compile(r"^(?P<what>Found \d+ errors?\b.*)$"),
        bad=re.compile(r"^Found [1-9]"),
    ),
    Verifier(
        id="eslint",
        commands=("eslint",),
        source="lint",
        head=re.compile(r"^(?P<head>\S.*\.\w+)$"),
        details=(_p(r"^\s+(?P<at>\d+:\d+)\s+(?P<level>error|warning)\s+(?P<what>\S.*)$"),),
        totals=re.compile(r"^\S (?P<what>\d+ problems? \(.*\))$"),
        bad=re.compile(r"\([1-9]\d* error"),
    ),
    Verifier(
        id="vitest",
        commands=("vitest",),
        source="test",
        details=(
            _p(
                r"^\s*FAIL\s+(?P<where>\S+ (?:> .+|\[ .+ \]))$",
                guarded=True,
                near=r"^(?P<what>\S.*)$",
            ),
        ),
        totals=re.compile(r"^\s*(?P<what>(?:Test Files|Tests)\s+\d+ .*\(\d+\))$"),
        bad=re.compile(r"\b[1-9]\d* failed\b"),
    ),
    Verifier(
        id="jest",
        commands=("jest",),
        source="test",
        details=(
            _p(
                r"^\s*● (?P<where>(?!Console$|Test suite failed to run$)\S.*)$",
                guarded=True,
                near=r"^\s+(?P<what>\S.*)$",
                after=2,
            ),
            _p(r"^\s+(?P<what>SyntaxError: .+)$", guarded=True),
        ),
        fallbacks=(_p(r"^FAIL (?P<where>\S+)", guarded=True),),
        totals=re.compile(r"^(?P<what>(?:Tests|Test Suites):\s+.*\btotal)$"),
        bad=re.compile(r"\b[1-9]\d* failed\b"),
    ),
    Verifier(
        id="gcc",
        commands=("gcc", "g++", "cc", "c++", "clang", "clang++"),
        source="typecheck",
        details=(
            _COMPILER,
            _p(r"^(?P<where>\S+:\(.*?\)): (?P<what>undefined reference to .+)$"),
        ),
        fallbacks=(_p(r"^(?:collect2|ld|clang(?:\+\+)?|g(?:cc|\+\+)): (?:fatal )?error: (?P<what>.+)$"),),
    ),
    Verifier(id="javac", commands=("javac",), source="typecheck", details=(_COMPILER,)),
    Verifier(
        id="maven",
        commands=("mvn", "mvnw", "mvnd"),
        source="typecheck",
        details=(
            _p(
                r"^\[(?P<level>ERROR|WARNING)\] (?P<where>\S+\.(?:java|kt):\[\d+,\d+\]) (?P<what>.+)$",
                near=r"^(?:\[ERROR\])?\s+symbol:\s+(?P<more>\S.*)$",
            ),
            _p(
                r"^(?:\[ERROR\] )?(?P<where>[\w.$]+(?:\([\w.$]+\))?)\s+(?:-- )?Time elapsed: .*"
                r"<<< (?:FAILURE|ERROR)!$",
                guarded=True,
                source="test",
                near=r"^(?P<what>\S.*)$",
            ),
        ),
        fallbacks=(_p(r"^\[ERROR\] (?P<what>Failed to execute goal .+)$"),),
        totals=re.compile(r"^(?:\[\w+\] )?(?P<what>Tests run: \d+, Failures: .*)$"),
        bad=re.compile(r"(?:Failures|Errors): [1-9]"),
    ),
    Verifier(
        id="npm",
        commands=(
            "npm test",
            "npm run",
            "pnpm test",
            "pnpm run",
            "yarn test",
            "yarn run",
            "npm t",
            "bun test",
        ),
        source="verifier_output",
        wraps=True,
        details=(
            _p(r"^npm (?:error|ERR!) (?P<what>Missing script: .+)$"),
            _p(r"^\s*ERR_PNPM_\w+\s+(?P<what>.+)$"),
            _p(r"^error (?P<what>Command .+ not found.*)$"),
        ),
    ),
    Verifier(
        id="make",
        commands=("make", "gmake", "ninja", "just", "tox", "nox"),
        source="verifier_output",
        wraps=True,
        fallbacks=(_p(r"^(?:g?make)(?:\[\d+\])?: \*\*\* (?P<what>.+)$"),),
    ),
)
"""Known verifiers. One that `wraps` runs others: its output is read with all patterns."""
