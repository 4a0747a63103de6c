"""The protocol artefacts: JSON Schemas and TypeScript declarations, made from the code they describe.

`python -m spec.generate` names the files of `protocol-artifacts/` that are stale, missing or left over and
exits 1; with `--write` it makes them right. Called by `make gen-protocol-artifacts`; a test holds them.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from spec.parts.artefacts import ARTEFACTS, pool
from spec.parts.schema import Pool, closed, kebab
from spec.parts.typescript import declarations

HERE = Path(__file__).parent
FOLDER = HERE / "protocol-artifacts"
README = HERE / "README.md"
MARK = re.compile(r"(<!-- generated: files -->\n).*?(<!-- /generated -->)", re.DOTALL)


def artefacts() -> dict[Path, str]:
    """Every file with what it should hold."""
    known = pool()
    files = {FOLDER / f"{kebab(name)}.schema.json": _document(name, known) for name in ARTEFACTS}
    files[FOLDER / "tidings.d.ts"] = declarations(known)
    files[README] = MARK.sub(lambda found: f"{found[1]}{_list(known)}{found[2]}", README.read_text())
    return files


def _document(name: str, known: Pool) -> str:
    return json.dumps(closed(name, known), indent=2, ensure_ascii=False) + "\n"


def _list(known: Pool) -> str:
    rows = [(f"{kebab(name)}.schema.json", str(known[name]["description"])) for name in ARTEFACTS]
    rows.append(("tidings.d.ts", "Everything as TypeScript declarations."))
    lines = [f"| [`{name}`](protocol-artifacts/{name}) | {text} |\n" for name, text in rows]
    return "| file | what it describes |\n| --- | --- |\n" + "".join(lines)


def stale() -> dict[Path, str | None]:
    """The files that are out of date, with what they should be; None for one that should not be there."""
    wanted = artefacts()
    wrong: dict[Path, str | None] = {
        path: text for path, text in wanted.items() if not path.exists() or path.read_text() != text
    }
    return wrong | {path: None for path in sorted(FOLDER.glob("*")) if path not in wanted}


def main(arguments: Sequence[str]) -> int:
    """Check, or with `--write` rewrite."""
    if set(arguments) - {"--write", "--check"} or len(arguments) > 1:
        print("usage: python -m spec.generate [--write|--check]")
        return 2
    writing, found = "--write" in arguments, stale()
    for path, text in found.items():
        if writing:
            _put(path, text)
        print(f"{'written' if writing else 'stale'}: {path.relative_to(HERE.parent)}")
    if found and not writing:
        print("run `make gen-protocol-artifacts` and review the diff")
    return 1 if found and not writing else 0


def _put(path: Path, text: str | None) -> None:
    if text is None:
        path.unlink()
        return
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
