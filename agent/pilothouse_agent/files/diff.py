"""What differs between two texts, in whole lines."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from difflib import SequenceMatcher
from typing import NamedTuple

from pilothouse_agent.files.equal_ends import equal_ends
from pilothouse_agent.files.lines import split_lines
from pilothouse_agent.kernel.tooling import FileDiff, Hunk

__all__ = ["Change", "changes", "count_changed", "diff_file", "diff_texts", "text_changes"]

_MOST_PAIRS = 20_000
"""Pairs of equal lines to weigh at most between two anchors; above it the whole gap is one change."""


class Change(NamedTuple):
    """A region of old lines and the new lines in their place; indices from 0, ends excluded."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


def changes(old: list[str], new: list[str]) -> list[Change]:
    """Lines that stand once in both texts hold the two together; only the gaps between are compared.

    Nearly linear, so that a large file can be compared where a user waits.
    """
    middle = _trimmed(old, new, Change(0, len(old), 0, len(new)))
    found: list[Change] = []
    i, j = middle.old_start, middle.new_start
    for old_anchor, new_anchor in [*_anchors(old, new, middle), (middle.old_end, middle.new_end)]:
        found += _gap(old, new, Change(i, old_anchor, j, new_anchor))
        i, j = old_anchor + 1, new_anchor + 1
    return found


def text_changes(old: str, new: str) -> list[Change]:
    """`changes` of the lines of two texts, at the cost of the part that differs."""
    top, bottom = equal_ends(old, new)
    found = changes(split_lines(old[top : len(old) - bottom]), split_lines(new[top : len(new) - bottom]))
    return [_moved(change, old.count("\n", 0, top)) for change in found]


def diff_texts(old: str, new: str, *, context: int = 3) -> tuple[Hunk, ...]:
    top, bottom = equal_ends(old, new)
    for _ in range(context):
        top = old.rfind("\n", 0, max(top - 1, 0)) + 1
        line_end = old.find("\n", len(old) - bottom)
        bottom = len(old) - line_end - 1 if line_end >= 0 else 0
    above = old.count("\n", 0, top)
    old_lines = split_lines(old[top : len(old) - bottom])
    new_lines = split_lines(new[top : len(new) - bottom])
    return tuple(
        replace(hunk, old_start=hunk.old_start + above, new_start=hunk.new_start + above)
        for group in _groups(changes(old_lines, new_lines), context)
        for hunk in [_hunk(group, old_lines, new_lines, context)]
    )


def diff_file(path: str, old: str | None, new: str | None) -> FileDiff:
    """None stands for a file that does not exist (yet, or any more)."""
    return FileDiff(path, old, new, diff_texts(old or "", new or ""))


def count_changed(hunks: tuple[Hunk, ...]) -> tuple[int, int]:
    """Lines added and lines removed."""
    marks = Counter(line[0] for hunk in hunks for line in hunk.lines)
    return marks["+"], marks["-"]


def _moved(change: Change, lines: int) -> Change:
    return Change(*(place + lines for place in change))


def _trimmed(old: list[str], new: list[str], part: Change) -> Change:
    """Without the equal lines at both ends."""
    i, i_end, j, j_end = part
    while i < i_end and j < j_end and old[i] == new[j]:
        i, j = i + 1, j + 1
    while i < i_end and j < j_end and old[i_end - 1] == new[j_end - 1]:
        i_end, j_end = i_end - 1, j_end - 1
    return Change(i, i_end, j, j_end)


def _anchors(old: list[str], new: list[str], part: Change) -> list[tuple[int, int]]:
    """The longest row of lines, unique in both parts, that rises in both."""
    old_part, new_part = old[part.old_start : part.old_end], new[part.new_start : part.new_end]
    in_old, in_new = Counter(old_part), Counter(new_part)
    places = {line: j for j, line in enumerate(new_part, part.new_start) if in_new[line] == 1}
    pairs = [
        (i, places[line])
        for i, line in enumerate(old_part, part.old_start)
        if in_old[line] == 1 and line in places
    ]
    return _longest_rising(pairs)


def _longest_rising(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """By patience sorting on the second number; the first one rises already."""
    ends: list[int] = []
    tops: list[int] = []
    below: list[int] = []
    for number, (_, value) in enumerate(pairs):
        pile = bisect_left(ends, value)
        ends[pile : pile + 1] = [value]
        below.append(tops[pile - 1] if pile else -1)
        tops[pile : pile + 1] = [number]
    row: list[tuple[int, int]] = []
    number = tops[-1] if tops else -1
    while number >= 0:
        row.append(pairs[number])
        number = below[number]
    return row[::-1]


def _gap(old: list[str], new: list[str], gap: Change) -> Iterator[Change]:
    change = _trimmed(old, new, gap)
    before, after = old[change.old_start : change.old_end], new[change.new_start : change.new_end]
    if not before and not after:
        return
    in_after = Counter(after)
    if not 0 < sum(in_after[line] for line in before) <= _MOST_PAIRS:
        yield change
        return
    i, j = change.old_start, change.new_start
    for tag, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag != "equal":
            yield Change(i + a, i + b, j + c, j + d)


def _groups(found: list[Change], context: int) -> list[list[Change]]:
    groups: list[list[Change]] = []
    for change in found:
        if groups and change.old_start - groups[-1][-1].old_end <= 2 * context:
            groups[-1].append(change)
        else:
            groups.append([change])
    return groups


def _hunk(group: list[Change], old: list[str], new: list[str], context: int) -> Hunk:
    start = max(group[0].old_start - context, 0)
    end = min(group[-1].old_end + context, len(old))
    lines: list[str] = []
    done = start
    for change in group:
        lines += [" " + line for line in old[done : change.old_start]]
        lines += ["-" + line for line in old[change.old_start : change.old_end]]
        lines += ["+" + line for line in new[change.new_start : change.new_end]]
        done = change.old_end
    lines += [" " + line for line in old[done:end]]
    return Hunk(start + 1, start + 1 + group[0].new_start - group[0].old_start, tuple(lines))
