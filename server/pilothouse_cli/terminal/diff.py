"""Diffs as a person reads them on a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pilothouse_agent.tools.visible import visible
from pilothouse_cli.terminal.style import Style

__all__ = ["changed_lines", "hunk_lines"]


def hunk_lines(hunks: Iterable[dict[str, Any]], style: Style) -> list[str]:
    """Every line of the hunks, each hunk below its line number in the new text."""
    lines: list[str] = []
    for hunk in hunks:
        lines.append(style.cyan(f"@@ line {hunk['newStart']} @@"))
        lines += [_painted(line, style) for line in hunk["lines"]]
    return lines


def changed_lines(hunks: Iterable[dict[str, Any]], style: Style, *, limit: int) -> list[str]:
    """Only what was removed and added, at most `limit` lines and a note of how many more there are."""
    changed = [line for hunk in hunks for line in hunk["lines"] if line[:1] in "+-"]
    shown = [_painted(line, style) for line in changed[:limit]]
    rest = len(changed) - limit
    return [*shown, style.dim(f"… {rest:,} more changed lines")] if rest > 0 else shown


def _painted(line: str, style: Style) -> str:
    shown = visible(line.removesuffix("\n").removesuffix("\r"), lines=True)
    match line[:1]:
        case "+":
            return style.green(shown)
        case "-":
            return style.red(shown)
        case _:
            return style.dim(shown)
