"""Progress of one call on its way to the listeners, bounded however slow they are."""

from __future__ import annotations

__all__ = ["Progress"]

_ROOM = 64 * 1024
"""Characters handed out at once; of what is older only the size is kept."""


class Progress:
    def __init__(self) -> None:
        self._parts: list[str] = []
        self._size = 0
        self._dropped = 0

    def add(self, text: str) -> bool:
        """Whether it is the first since the last `take`."""
        first = not self._parts
        self._parts.append(text)
        self._size += len(text)
        if self._size > 2 * _ROOM:
            self._parts = [self._newest()]
        return first

    def take(self) -> tuple[str, int]:
        """The new text, and how many bytes before it were dropped."""
        taken = (self._newest(), self._dropped)
        self._parts.clear()
        self._size = self._dropped = 0
        return taken

    def _newest(self) -> str:
        text = "".join(self._parts)
        excess = max(0, len(text) - _ROOM)
        self._dropped += len(text[:excess].encode(errors="replace"))
        self._size = len(text) - excess
        return text[excess:]
