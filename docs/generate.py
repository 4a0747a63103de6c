"""The generated parts of the docs: tables and help texts, taken from the code they describe.

A page marks such a part with `<!-- generated: NAME -->` and `<!-- /generated -->`; what stands
between them is the text that `PARTS[NAME]` gives. `python -m docs.generate` names the pages that are
stale and exits 1; with `--write` it rewrites them. Called by `make golden`; a test holds the result.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from docs.parts import (
    cli,
    config,
    conformance,
    dependencies,
    happenings,
    hosts,
    interop,
    lines,
    loop,
    names,
    recall,
    retention,
    tables,
    wires,
)

DOCS = Path(__file__).parent
MARK = re.compile(r"(<!-- generated: (?P<name>[a-z-]+) -->\n).*?(<!-- /generated -->)", re.DOTALL)

PARTS: dict[str, Callable[[], str]] = {
    "producers": wires.producers,
    "capability-table": wires.capability_table,
    "hints-by-route": wires.hints_by_route,
    "external-by-wire": wires.external_by_wire,
    "seed-body": wires.seed_body,
    "append-only-body": wires.append_only_body,
    "routes": wires.route_table,
    "wire-initialize": lines.initialize,
    "wire-methods": lines.methods,
    "wire-inject": lines.inject,
    "wire-older": lines.older,
    "wire-queue": lines.queue,
    "wire-refusals": lines.refusals,
    "wire-errors": lines.errors,
    "wire-updates": lines.updates,
    "wire-sources": lines.sources,
    "wire-phases": lines.phases,
    "wire-carried": lines.carried,
    "record-kinds": tables.record_kinds,
    "change-kinds": tables.change_kinds,
    "diagnostics": tables.diagnostics,
    "trust-limits": tables.trust_limits,
    "trust-powers": tables.trust_powers,
    "log-limits": tables.log_limits,
    "log-folded": retention.folded,
    "retention": retention.retention,
    "session-kinds": loop.session_kinds,
    "loop-options": loop.options,
    "loop-result": loop.result,
    "loop-statuses": loop.statuses,
    "seams": loop.seams,
    "hook-events": happenings.hook_events,
    "hook-payloads": happenings.hook_payloads,
    "payload-fields": happenings.payload_fields,
    "hook-registrars": happenings.registrars,
    "providers": happenings.providers,
    "provider-keys": happenings.provider_keys,
    "fact-fields": recall.fact_fields,
    "fact-codes": recall.fact_codes,
    "conformance-versions": conformance.conformance_versions,
    "conformance-summary": conformance.conformance_summary,
    "conformance-results": conformance.conformance_results,
    "interop-versions": interop.interop_versions,
    "interop-results": interop.interop_results,
    "hosts-versions": interop.hosts_versions,
    "hosts-results": interop.hosts_results,
    "hosts-reach": hosts.reach,
    "hosts-events": hosts.events,
    "hosts-hooked": hosts.hooked,
    "hosts-trust": hosts.trust,
    "hosts-voice": hosts.voice,
    "api": names.api,
    "errors": names.error_attributes,
    "error-tree": names.error_tree,
    "dependencies": dependencies.dependencies,
    "extras": dependencies.extras,
    "config-tables": config.tables,
    "exit-codes": cli.exit_codes,
    "cli": cli.cli,
}


def refreshed(page: str) -> str:
    """`page` with every generated part made anew."""
    return MARK.sub(lambda found: f"{found[1]}{PARTS[found['name']]()}\n{found[3]}", page)


def stale(folder: Path = DOCS) -> dict[Path, str]:
    """The pages that are out of date, with what they should be."""
    pages = {path: path.read_text() for path in sorted(folder.rglob("*.md"))}
    return {path: fresh for path, text in pages.items() if (fresh := refreshed(text)) != text}


def main(arguments: Sequence[str]) -> int:
    """Check, or with `--write` rewrite."""
    found = stale()
    for path, fresh in found.items():
        if "--write" in arguments:
            path.write_text(fresh)
        print(f"{'written' if '--write' in arguments else 'stale'}: {path.relative_to(DOCS.parent)}")
    if found and "--write" not in arguments:
        print("run `python -m docs.generate --write` and review the diff")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
