"""Whether an edit stands in a text that others have changed as well."""

from __future__ import annotations

from itertools import accumulate
from typing import NamedTuple

from pilothouse_server.edits.text_edits import spliced, splices

__all__ = ["is_absent", "made_of", "stands"]


class _Span(NamedTuple):
    start: int
    end: int

    def meets(self, other: _Span) -> bool:
        """Whether they share a character, or one of them lies within the other."""
        return self.start < other.end and other.start < self.end

    def covers(self, other: _Span) -> bool:
        return self.start <= other.start and other.end <= self.end

    def reaches(self, other: _Span) -> bool:
        """`meets`, or lies side by side with it."""
        return self.start <= other.end and other.start <= self.end


def stands(before: str, wanted: str, now: str) -> bool:
    """Whether all that made `wanted` out of `before` is in `now`; in doubt it is not."""
    return _comes_from(wanted, before, now)


def is_absent(before: str, wanted: str, now: str) -> bool:
    """Whether none of it is in `now`; in doubt it is not absent."""
    return _comes_from(before, wanted, now)


def made_of(before: str, wanted: str, now: str) -> str | None:
    """What `before` became by those parts of the edit that are in `now`; None when none is for certain.

    May take a while.
    """
    parts = list(splices(before, wanted))
    made = spliced(before, [part for part in parts if stands(before, spliced(before, [part]), now)])
    return made if made != before and stands(before, made, now) else None


def _comes_from(one: str, other: str, now: str) -> bool:
    """Whether `now` has `one` in every place where it differs from `other`, and `other` in none.

    Both are looked at, because equal lines side by side can be counted as one or the other.
    """
    in_other, in_one = _places(other, one)
    from_one, from_other = _places(one, now)[0], _places(other, now)[0]
    return not any(_spoils(change, place) for change in from_one for place in in_one) and all(
        any(change.covers(place) for change in from_other) for place in in_other
    )


def _spoils(change: _Span, place: _Span) -> bool:
    return change.reaches(place) if place.start == place.end else change.meets(place)


def _places(old: str, new: str) -> tuple[list[_Span], list[_Span]]:
    """Where the two differ, in the one and in the other."""
    found = list(splices(old, new))
    shifts = accumulate((len(each.new) - (each.end - each.start) for each in found), initial=0)
    starts = [each.start + shift for each, shift in zip(found, shifts, strict=False)]
    return (
        [_Span(each.start, each.end) for each in found],
        [_Span(start, start + len(each.new)) for each, start in zip(found, starts, strict=True)],
    )
