"""Diagnostics: the codes as data, `explain` for people, `lint` for source files.

`catalogue` holds what each code means and how to fix it; `explain` turns a code into text; `lint`
finds in Python sources, without running them, what the runtime would refuse or warn about.
"""

from tidings.diagnostics.explain import Explanation, UnknownCodeError, explain

__all__ = ["Explanation", "UnknownCodeError", "explain"]
