"""How much of two texts is equal at their ends: found in large pieces, since most edits are small ones."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable

__all__ = ["equal_end", "equal_ends", "equal_start"]

_PIECE = 4096
"""Characters that are compared at a time."""


def equal_ends(old: str, new: str) -> tuple[int, int]:
    """Characters at the top and at the bottom, in whole lines ended by LF; the two do not overlap."""
    top = old.rfind("\n", 0, equal_start(old, new)) + 1
    bottom = equal_end(old, new, most=min(len(old), len(new)) - top)
    first_end = old.find("\n", len(old) - bottom)
    return top, len(old) - first_end - 1 if first_end >= 0 else 0


def equal_start(one: str, other: str) -> int:
    most = min(len(one), len(other))
    return _equal(most, lambda start, end: one[start:end] == other[start:end])


def equal_end(one: str, other: str, *, most: int) -> int:
    """`most`: characters that may be counted at all."""

    def same(start: int, end: int) -> bool:
        return one[len(one) - end : len(one) - start] == other[len(other) - end : len(other) - start]

    return _equal(most, same)


def _equal(most: int, same: Callable[[int, int], bool]) -> int:
    """The largest size up to `most` of which each part is the same."""
    size = 0
    while size < most and same(size, min(size + _PIECE, most)):
        size = min(size + _PIECE, most)
    rest = min(_PIECE, most - size)
    return size + bisect_left(range(1, rest + 1), True, key=lambda more: not same(size, size + more))
