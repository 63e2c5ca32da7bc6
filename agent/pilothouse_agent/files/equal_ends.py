"""How much of two texts is equal at their ends: found in large pieces, as most edits are small."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["equal_end", "equal_ends", "equal_start"]

_PIECE = 4096
"""Characters that are compared first; then twice as many each time."""


def equal_ends(old: str, new: str) -> tuple[int, int]:
    """Characters at the top and at the bottom, in whole lines ended by LF; the two do not overlap."""
    top = old.rfind("\n", 0, equal_start(old, new)) + 1
    bottom = equal_end(old, new, most=min(len(old), len(new)) - top)
    first_end = old.find("\n", len(old) - bottom)
    return top, len(old) - first_end - 1 if first_end >= 0 else 0


def equal_start(one: str, other: str) -> int:
    most = min(len(one), len(other))
    return _equal(most, lambda start, end: one.startswith(other[start:end], start))


def equal_end(one: str, other: str, *, most: int) -> int:
    """`most`: characters that may be counted at all."""
    length, other_length = len(one), len(other)

    def same(start: int, end: int) -> bool:
        return one.endswith(other[other_length - end : other_length - start], 0, length - start)

    return _equal(most, same)


def _equal(most: int, same: Callable[[int, int], bool]) -> int:
    """The largest size up to `most` of which each part is the same."""
    size, step = 0, _PIECE
    while size < most and same(size, min(size + step, most)):
        size = min(size + step, most)
        step *= 2
    while size < most and step > 1:
        step //= 2
        if same(size, min(size + step, most)):
            size += step
    return size
