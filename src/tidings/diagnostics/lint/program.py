"""From sources to findings: each file on its own, then what only shows across all of them.

`lint_paths` is what `tidings lint` calls; `lint_source` takes a text, for editors and tests. Both
give findings in the order of every report.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from os import PathLike

import msgspec

from tidings.agent.providers.options import MAX_CUSTOM
from tidings.agent.registration import CANONICAL
from tidings.diagnostics.lint.files import files_under, read_source
from tidings.diagnostics.lint.finding import Finding
from tidings.diagnostics.lint.hints import judge_hints
from tidings.diagnostics.lint.registrars import Registration
from tidings.diagnostics.lint.rules import judge, judge_selection
from tidings.diagnostics.lint.sites import Sites, sites_of
from tidings.diagnostics.lint.source import Mark, Source, parse, unparsable

_TELLING = ("remind", "register_")
"""Every name that the sites are found by holds one of these; most files hold neither."""


class _Examined(msgspec.Struct, frozen=True):
    """One file: its findings, and its providers with the finding each would be if it is too many."""

    findings: tuple[Finding, ...] = ()
    providers: tuple[tuple[str, Finding], ...] = ()


def lint_source(text: str, path: str = "<source>") -> tuple[Finding, ...]:
    """The findings for one source text; `path` is what they name."""
    return _findings([_examine(text, path)])


def lint_paths(paths: Iterable[str | PathLike[str]]) -> tuple[Finding, ...]:
    """The findings for files and directories, taken together as one program.

    Raises:
        LintPathError: a path does not exist or a file cannot be read.
    """
    return _findings([_examine(read_source(path), path.as_posix()) for path in files_under(paths)])


def _examine(text: str, path: str) -> _Examined:
    source = parse(text, path)
    if isinstance(source, Finding):
        return _Examined((source,))
    if not any(word in text for word in _TELLING):
        return _Examined()
    try:
        sites = sites_of(source.tree)
        marks = [mark for mark in _marks(sites) if not source.ignored(mark)]
    except RecursionError as error:
        return _Examined((unparsable(path, error),))
    providers = [p for p in sites.providers if not source.ignored(_excess(p))]
    return _Examined(
        tuple(source.finding(mark) for mark in marks),
        tuple(_provider(provider, source) for provider in providers),
    )


def _marks(sites: Sites) -> Iterator[Mark]:
    for spec in sites.specs:
        yield from judge(spec, sites.names)
    for selection in sites.selections:
        yield from judge_selection(selection, sites.names)
    yield from judge_hints(sites)


def _findings(files: list[_Examined]) -> tuple[Finding, ...]:
    found = {finding for file in files for finding in file.findings}
    return tuple(sorted(found | set(_too_many(files))))


def _too_many(files: list[_Examined]) -> Iterator[Finding]:
    """HARN-RMD-007, at the first provider beyond the limit in the order of the files."""
    listed = sorted((place, name) for file in files for name, place in file.providers)
    first = {name: place for place, name in reversed(listed) if name not in CANONICAL}
    ids = sorted(first, key=first.__getitem__)
    if len(ids) > MAX_CUSTOM:
        shown = ", ".join(ids)
        text = (
            f"{len(ids)} reminder providers, more than {MAX_CUSTOM}: {shown}; "
            'join some, or disable them with providers=["-id"]'
        )
        yield msgspec.structs.replace(first[ids[MAX_CUSTOM]], message=text)


def _provider(provider: Registration, source: Source) -> tuple[str, Finding]:
    return provider.id, source.finding(_excess(provider))


def _excess(provider: Registration) -> Mark:
    return Mark("HARN-RMD-007", provider.id, provider.node, provider.node, provider.node)
