"""Where a text that was not found almost is, shown so that the difference can be seen."""

from __future__ import annotations

from difflib import get_close_matches

from pilothouse_agent.files.lines import split_lines
from pilothouse_agent.tools.visible import visible

__all__ = ["describe_nearest"]

_SHOWN_LINES = 5
_SHOWN_WIDTH = 200
_COMPARED_LINES = 3_000
_SAME_LINES = 50
_ALIKE = 0.6
_MARKS = str.maketrans({"\t": "→", " ": "·", "\r": "␍"})


def describe_nearest(text: str, wanted: str) -> str:
    """The nearest place with its line number, both texts with visible blanks; or that there is none."""
    lines, wanted_lines = _contents(text), _contents(wanted)
    start = _nearest(lines, wanted_lines)
    if start is None:
        return "Nothing like it is there. Read the file to see its text."
    count = min(len(wanted_lines), _SHOWN_LINES)
    return (
        f"The nearest text is in line {start + 1}:\n{_shown(lines[start : start + count])}\n"
        f"while old_text has:\n{_shown(wanted_lines[:count])}\n"
        "(→ is a tab, · a blank, ␍ a carriage return.) Copy the text exactly as the file has it."
    )


def _nearest(lines: list[str], wanted: list[str]) -> int | None:
    """Index of the line where the wanted text would begin."""
    squeezed = [_squeezed(line) for line in lines]
    goal = [_squeezed(line) for line in wanted]
    offset = max(range(len(goal)), key=lambda index: len(goal[index]))
    key = goal[offset]
    if not key:
        return None
    if key not in squeezed:
        low, high = len(key) * 0.5, len(key) * 2
        candidates = dict.fromkeys(line for line in squeezed if low <= len(line) <= high)
        close = get_close_matches(key, list(candidates)[:_COMPARED_LINES], n=1, cutoff=_ALIKE)
        if not close:
            return None
        key = close[0]
    places = [index for index, line in enumerate(squeezed) if line == key][:_SAME_LINES]
    best = max(places, key=lambda place: _agreement(squeezed, goal, place - offset))
    return max(best - offset, 0)


def _agreement(lines: list[str], goal: list[str], start: int) -> int:
    return sum(
        0 <= start + index < len(lines) and lines[start + index] == line for index, line in enumerate(goal)
    )


def _contents(text: str) -> list[str]:
    return [line.removesuffix("\n") for line in split_lines(text)] or [""]


def _squeezed(line: str) -> str:
    return " ".join(line.split())


def _shown(lines: list[str]) -> str:
    return "\n".join(visible(_clipped(line).translate(_MARKS)) for line in lines)


def _clipped(line: str) -> str:
    return line if len(line) <= _SHOWN_WIDTH else line[:_SHOWN_WIDTH] + "…"
