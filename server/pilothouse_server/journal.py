"""What has left of a session's events, kept for clients that lost their view."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

__all__ = ["Journal", "Kept"]

_EVENTS_AT_MOST = 20_000
_BYTES_AT_MOST = 32 * 1024 * 1024
_UPDATES_AT_MOST = 4 * 1024 * 1024


class Kept(NamedTuple):
    seq: int
    body: bytes
    """Params of the notification, as JSON."""


class Journal:
    """The newest events, bounded. Updates are kept only until their message or call has ended."""

    def __init__(
        self, *, events: int = _EVENTS_AT_MOST, size: int = _BYTES_AT_MOST, updates: int = _UPDATES_AT_MOST
    ) -> None:
        """`size` is in bytes; so is `updates`, for those of one message or call."""
        self._limits = (events, size)
        self._updates_limit = updates
        self._kept: deque[Kept] = deque()
        self._updates: dict[str, _Updates] = {}
        self._size = 0
        self._forgotten = 0
        """The newest seq that was let go for lack of room."""

    def add(self, seq: int, body: bytes, *, update_of: str | None = None, ends: str | None = None) -> None:
        """`update_of` names the message or call an update belongs to, `ends` the one this event ends."""
        kept = Kept(seq, body)
        if update_of is not None:
            of_one = self._updates.get(update_of)
            if of_one is None:
                of_one = self._updates[update_of] = _Updates()
            of_one.add(kept, self._updates_limit)
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
        if seq < max([self._forgotten, *(of_one.forgotten for of_one in self._updates.values())]):
            return None
        updates = [kept for of_one in self._updates.values() for kept in of_one.kept if kept.seq > seq]
        events = [kept for kept in self._kept if kept.seq > seq]
        return sorted(events + updates)[:limit]


class _Updates:
    """Those of a message or call that goes on. Too many are all let go: a snapshot says it shorter."""

    __slots__ = ("forgotten", "kept", "size")

    def __init__(self) -> None:
        self.kept: list[Kept] = []
        self.size = 0
        self.forgotten = 0

    def add(self, kept: Kept, limit: int) -> None:
        self.kept.append(kept)
        self.size += len(kept.body)
        if self.size > limit:
            self.forgotten = kept.seq
            self.kept.clear()
            self.size = 0
