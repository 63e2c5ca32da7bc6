"""What has left of a session's events, kept for clients that lost their view."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

__all__ = ["Journal", "Kept"]

_EVENTS_AT_MOST = 20_000
_BYTES_AT_MOST = 32 * 1024 * 1024


class Kept(NamedTuple):
    seq: int
    body: bytes
    """Params of the notification, as JSON."""


class Journal:
    """The newest events, bounded. Updates are kept only until their message or call has ended."""

    def __init__(self, *, events: int = _EVENTS_AT_MOST, size: int = _BYTES_AT_MOST) -> None:
        self._limits = (events, size)
        self._kept: deque[Kept] = deque()
        self._updates: dict[str, list[Kept]] = {}
        self._size = 0
        self._forgotten = 0
        """The newest seq that was let go for lack of room."""

    def add(self, seq: int, body: bytes, *, update_of: str | None = None, ends: str | None = None) -> None:
        """`update_of` names the message or call an update belongs to, `ends` the one this event ends."""
        kept = Kept(seq, body)
        if update_of is not None:
            self._updates.setdefault(update_of, []).append(kept)
            return
        if ends is not None:
            self._updates.pop(ends, None)
        self._kept.append(kept)
        self._size += len(body)
        while len(self._kept) > self._limits[0] or self._size > self._limits[1]:
            dropped = self._kept.popleft()
            self._size -= len(dropped.body)
            self._forgotten = dropped.seq

    def after(self, seq: int, limit: int) -> list[Kept] | None:
        """At most `limit` events after `seq`, in order; None when some of them are not kept any more."""
        if seq < self._forgotten:
            return None
        updates = [kept for of_one in self._updates.values() for kept in of_one if kept.seq > seq]
        events = [kept for kept in self._kept if kept.seq > seq]
        return sorted(events + updates)[:limit]
