"""Markdown: what every generated part is made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines
    )


def code(words: Iterable[str]) -> str:
    """Words as inline code, joined by commas."""
    return ", ".join(f"`{word}`" for word in words)


def fenced(text: str, language: str) -> str:
    """A fenced block."""
    return f"```{language}\n{text.rstrip()}\n```"
