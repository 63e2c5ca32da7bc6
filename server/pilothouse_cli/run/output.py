"""A descriptor that is written by a thread, so that a slow reader never blocks the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from pilothouse_server.wire.writer import WireWriter

__all__ = ["Output"]

_HIGH_WATER = 1024 * 1024
"""Bytes waiting for the reader from which the run waits too."""
_PATIENCE = 0.5


class Output:
    """Made inside the event loop."""

    def __init__(self, descriptor: int, *, encoding: str) -> None:
        self._encoding = encoding
        self._loop = asyncio.get_running_loop()
        self._room = asyncio.Event()
        self._room.set()
        self.on_broken: Callable[[], object] = lambda: None
        """Called in the event loop, once, when the reader has gone away."""
        self._abandoned = False
        self._writer = WireWriter(
            descriptor,
            on_drained=lambda: self._tell(self._room.set),
            on_broken=lambda: self._tell(self._broke),
        )
        self._writer.start()

    def write(self, text: str) -> None:
        """What the encoding does not have is written as an escape."""
        self.write_bytes(text.encode(self._encoding, "backslashreplace"))

    def write_bytes(self, data: bytes) -> None:
        self._writer.write(data)

    @property
    def failure(self) -> str | None:
        """What kept it from being written, other than a reader that went away."""
        error = self._writer.error
        return None if error is None or isinstance(error, BrokenPipeError) else str(error.strerror or error)

    @property
    def full(self) -> bool:
        if self._writer.unsent > _HIGH_WATER and not self._abandoned:
            self._room.clear()
        return not self._room.is_set()

    async def room(self) -> None:
        """Wait until the reader has caught up, or gone away."""
        await self._room.wait()

    async def close(self) -> None:
        """Returns when all is written, the reader has gone away, or this is abandoned."""
        while not await asyncio.to_thread(self._writer.close, _PATIENCE) and not self._abandoned:
            pass

    def abandon(self) -> None:
        """Wait no longer for the reader; what it has not taken is lost."""
        self._abandoned = True
        self._room.set()

    def _broke(self) -> None:
        self._room.set()
        self.on_broken()

    def _tell(self, callback: Callable[[], None]) -> None:
        try:
            self._loop.call_soon_threadsafe(callback)
        except RuntimeError:  # the loop is closed: the process is ending
            return
