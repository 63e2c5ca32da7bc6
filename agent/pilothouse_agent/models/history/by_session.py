"""What a provider keeps of each session, so that sessions that take turns do not cost each other anything."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Generic, TypeVar

__all__ = ["BySession"]

T = TypeVar("T")

_IDLE = 900.0
"""Seconds; nobody tells a provider that a session has ended."""


class BySession(Generic[T]):
    """Made at a session's first request, and dropped some time after its last one."""

    def __init__(self, make: Callable[[], T], *, now: Callable[[], float] = monotonic) -> None:
        self._make = make
        self._now = now
        self._kept: dict[str, tuple[float, T]] = {}
        """With the time of the last request, the longest ago first."""

    def of(self, session_id: str) -> T:
        now, found = self._now(), self._kept.pop(session_id, None)
        made = found[1] if found is not None else self._make()
        self._kept[session_id] = (now, made)
        while (oldest := next(iter(self._kept.items())))[1][0] < now - _IDLE:
            del self._kept[oldest[0]]
        return made

    def __len__(self) -> int:
        return len(self._kept)
