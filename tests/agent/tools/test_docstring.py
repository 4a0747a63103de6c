"""A docstring becomes what a model is told."""

from __future__ import annotations

import inspect

import pytest

from tidings.agent.tools.docstring import Described, describe

FULL = """Do it
    quickly.

    For people only.

    Args:
        path: Where, as in C:
            or anywhere.
        count (int, optional): How often: twice.

        last: After a gap.

    Raises:
        ValueError: never.
    """


@pytest.mark.parametrize(
    ("docstring", "described"),
    [
        (None, Described()),
        ("", Described()),
        ("One line.", Described("One line.")),
        (
            inspect.cleandoc(FULL),
            Described(
                "Do it quickly.",
                {
                    "path": "Where, as in C: or anywhere.",
                    "count": "How often: twice.",
                    "last": "After a gap.",
                },
            ),
        ),
        ("Args:\n    x: Only that.", Described("", {"x": "Only that."})),
        ("Do.\nArguments:\n  x: No gap.", Described("Do.", {"x": "No gap."})),
        ("Do.\n\nArgs:\n\nReturns:\n    x: no argument.", Described("Do.")),
        ("Do.\n\nArgs:\n    just talk\n    x: One.", Described("Do.", {"x": "One."})),
    ],
)
def test_the_first_paragraph_and_the_argument_lines_are_kept(
    docstring: str | None, described: Described
) -> None:
    assert describe(docstring) == described
