"""The catalogue: every diagnostic code with its meaning, an example that triggers it, and the fix.

Data only: `explain`, the linter's reports and the docs read it, nothing here decides anything. The
eight HARN-RMD codes are seed 001's and stand in `harn.py`, the HARN-FACT codes in `facts.py`; the TDG
codes are the linter's own and stand in `own.py`. Tests run every example: the bad one triggers its
code, the fixed one does not.
"""

from __future__ import annotations

from tidings.diagnostics.entry import Diagnostic
from tidings.diagnostics.facts import FACTS
from tidings.diagnostics.harn import HARN
from tidings.diagnostics.own import OWN

CATALOGUE: tuple[Diagnostic, ...] = (*HARN, *FACTS, *OWN)
BY_CODE: dict[str, Diagnostic] = {diagnostic.code: diagnostic for diagnostic in CATALOGUE}
