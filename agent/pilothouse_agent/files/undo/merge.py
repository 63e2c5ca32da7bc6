"""Two changes of one text put together, where they leave each other alone."""

from __future__ import annotations

from pilothouse_agent.files.diff import Change, changes
from pilothouse_agent.files.lines import split_lines

__all__ = ["merge"]


def merge(base: str, ours: str, theirs: str) -> str | None:
    """The text with both changes of `base`; None where they overlap or touch without being the same."""
    base_lines, our_lines, their_lines = split_lines(base), split_lines(ours), split_lines(theirs)
    left = [(change, _new(change, our_lines)) for change in changes(base_lines, our_lines)]
    right = [(change, _new(change, their_lines)) for change in changes(base_lines, their_lines)]
    merged: list[str] = []
    done = 0
    while left or right:
        if left and right and _touch(left[0][0], right[0][0]):
            if _place(left[0][0]) != _place(right[0][0]) or left[0][1] != right[0][1]:
                return None
            right.pop(0)
        change, lines = (left if not right or (left and left[0][0] < right[0][0]) else right).pop(0)
        merged += base_lines[done : change.old_start] + lines
        done = change.old_end
    return "".join(merged + base_lines[done:])


def _new(change: Change, lines: list[str]) -> list[str]:
    return lines[change.new_start : change.new_end]


def _place(change: Change) -> tuple[int, int]:
    return change.old_start, change.old_end


def _touch(one: Change, other: Change) -> bool:
    return one.old_start <= other.old_end and other.old_start <= one.old_end
