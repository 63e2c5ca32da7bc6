"""What has left of a session's events, kept for clients that lost their view."""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

__all__ = ["Journal", "Kept"]

_EVENTS_AT_MOST = 20_000
_BYTES_AT_MOST = 32 * 1024 * 1024
_UPDATES_AT_MOST = 4 * 1024 * 1024


class Kept(NamedTuple):
    seq: int
    body: bytes
    """Params of the notification, as JSON."""


_GONE = Kept(0, b"")


class Journal:
    """The newest events, bounded. Updates are kept only until their message or call has ended."""

    def __init__(
        self, *, events: int = _EVENTS_AT_MOST, size: int = _BYTES_AT_MOST, updates: int = _UPDATES_AT_MOST
    ) -> None:
        """`size` is in bytes; so is `updates`, for those of one message or call."""
        self._limits = (events, size)
        self._updates_limit = updates
        self._kept = _Row()
        self._updates: dict[str, _Updates] = {}
        self._forgotten = 0
        """The newest seq that was let go for lack of room."""

    def add(self, seq: int, body: bytes, *, update_of: str | None = None, ends: str | None = None) -> None:
        """`update_of` names the message or call an update belongs to, `ends` the one this event ends."""
        # An encoder's own bytes may sit in a buffer that is many times as large.
        kept = Kept(seq, bytes(memoryview(body)))
        if update_of is not None:
            of_one = self._updates.get(update_of)
            if of_one is None:
                of_one = self._updates[update_of] = _Updates()
            of_one.add(kept, self._updates_limit)
            return
        if ends is not None:
            self._updates.pop(ends, None)
        self._kept.add(kept)
        while len(self._kept) > self._limits[0] or self._kept.size > self._limits[1]:
            self._forgotten = self._kept.drop_first().seq

    def after(self, seq: int, limit: int) -> list[Kept] | None:
        """At most `limit` events after `seq`, in order; None when some of them are not kept any more."""
        if seq < max([self._forgotten, *(of_one.forgotten for of_one in self._updates.values())]):
            return None
        rows = (self._kept, *(of_one.row for of_one in self._updates.values()))
        return sorted(kept for row in rows for kept in row.after(seq, limit))[:limit]


class _Row:
    """Events in order of their seq."""

    __slots__ = ("_first", "_kept", "size")

    def __init__(self) -> None:
        self._kept: list[Kept] = []
        self._first = 0
        """Before it stand those that were dropped, until they are worth the work of moving the others."""
        self.size = 0
        """In bytes, as they are really held."""

    def __len__(self) -> int:
        return len(self._kept) - self._first

    def add(self, kept: Kept) -> None:
        self._kept.append(kept)
        self.size += len(kept.body)

    def drop_first(self) -> Kept:
        dropped = self._kept[self._first]
        self._kept[self._first] = _GONE
        self._first += 1
        self.size -= len(dropped.body)
        if self._first > len(self._kept) // 2:
            del self._kept[: self._first]
            self._first = 0
        return dropped

    def after(self, seq: int, limit: int) -> list[Kept]:
        start = bisect_right(self._kept, seq, lo=self._first, key=lambda kept: kept.seq)
        return self._kept[start : start + limit]


class _Updates:
    """Those of a message or call that goes on. Too many are all let go: a snapshot says it shorter."""

    __slots__ = ("forgotten", "row")

    def __init__(self) -> None:
        self.row = _Row()
        self.forgotten = 0

    def add(self, kept: Kept, limit: int) -> None:
        self.row.add(kept)
        if self.row.size > limit:
            self.forgotten = kept.seq
            self.row = _Row()
