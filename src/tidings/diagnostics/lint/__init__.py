"""The linter: reads Python sources with `ast` and finds what reminders would do wrong at run time.

    files → source (tree, ignores) → sites (specs, selections, providers) → rules → findings → formats

It never imports or runs what it reads, and it judges only what is written out literally.
"""

from tidings.diagnostics.lint.files import LintPathError
from tidings.diagnostics.lint.finding import Finding
from tidings.diagnostics.lint.formats import FORMATS
from tidings.diagnostics.lint.program import lint_paths, lint_source

__all__ = ["FORMATS", "Finding", "LintPathError", "lint_paths", "lint_source"]
