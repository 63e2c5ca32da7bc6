"""What was made of messages, kept so that a growing history is not serialised anew for each request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from pilothouse_agent.kernel.messages import ModelMessage

__all__ = ["Pieces"]

T = TypeVar("T")

_ENTRY = 400
"""Bytes an entry costs beside what was made."""


class Pieces(Generic[T]):
    """Messages never change, so their identity is the key. Bounded: the oldest half goes first."""

    def __init__(
        self, make: Callable[[ModelMessage], T], size: Callable[[T], int], *, room: int = 64 << 20
    ) -> None:
        """`room` in bytes, as `size` measures them."""
        self._make = make
        self._size = size
        self._room = room
        self._used = 0
        # The message is kept beside its piece: a freed one would hand its identity to another.
        self._kept: dict[int, tuple[ModelMessage, T]] = {}

    def of(self, message: ModelMessage) -> T:
        kept = self._kept.get(id(message))
        if kept is not None:
            return kept[1]
        piece = self._make(message)
        self._kept[id(message)] = (message, piece)
        self._used += self._size(piece) + _ENTRY
        if self._used > self._room:
            self._shrink()
        return piece

    def _shrink(self) -> None:
        for key in list(self._kept):
            if self._used <= self._room // 2:
                break
            self._used -= self._size(self._kept.pop(key)[1]) + _ENTRY
