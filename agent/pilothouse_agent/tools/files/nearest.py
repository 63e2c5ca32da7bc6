"""Where a text that was not found almost is, shown so that the difference can be seen."""

from __future__ import annotations

from difflib import get_close_matches
from heapq import nlargest

from pilothouse_agent.files.lines import split_lines
from pilothouse_agent.tools.visible import visible

__all__ = ["describe_nearest"]

_SHOWN_LINES = 5
_SHOWN_WIDTH = 200
_COMPARED_WIDTH = 200
_COMPARED = 1_000_000
"""Characters of lines that are looked at for being alike."""
_CLOSEST = 20
_WANTED_LINES = 200
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
    goal = [_squeezed(line) for line in wanted[:_WANTED_LINES]]
    offset = max(range(len(goal)), key=lambda index: len(goal[index]))
    key = goal[offset]
    if not key:
        return None
    if key not in squeezed:
        close = _closest(squeezed, key)
        if close is None:
            return None
        key = close
    places = [index for index, line in enumerate(squeezed) if line == key][:_SAME_LINES]
    best = max(places, key=lambda place: _agreement(squeezed, goal, place - offset))
    return max(best - offset, 0)


def _closest(lines: list[str], key: str) -> str | None:
    """The line most alike: of those that share most pairs of letters, which is told quickly, the one that
    reads most alike, which is not."""
    low, high = len(key) * 0.5, len(key) * 2
    wanted = _pairs(key)
    shared: dict[str, float] = {}
    room = _COMPARED
    for line in lines:
        if low <= len(line) <= high and line not in shared:
            pairs = _pairs(line)
            shared[line] = len(wanted & pairs) / max(len(wanted | pairs), 1)
            room -= min(len(line), _COMPARED_WIDTH)
            if room < 0:
                break
    heads = {line[:_COMPARED_WIDTH]: line for line in nlargest(_CLOSEST, shared, key=shared.__getitem__)}
    close = get_close_matches(key[:_COMPARED_WIDTH], heads, n=1, cutoff=_ALIKE)
    return heads[close[0]] if close else None


def _pairs(line: str) -> set[str]:
    head = line[:_COMPARED_WIDTH]
    return {head[index : index + 2] for index in range(len(head) - 1)}


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
