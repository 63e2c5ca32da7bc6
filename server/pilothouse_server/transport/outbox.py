"""Everything that goes out, in one order, bounded when the client reads slowly."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Protocol

from pilothouse_server.transport.frames import frame
from pilothouse_server.transport.writer import WireWriter

__all__ = ["Outbox", "Outgoing"]

_AHEAD = 256 * 1024
"""Bytes given to the writer before things wait here, where they can still be merged."""
_HIGH_WATER = 1024 * 1024
"""Bytes waiting here from which producers are asked to wait."""
_ROOM_WAIT = 0.5
"""Seconds a producer waits at most, so that an abort is never held up by a client that does not read."""


class Outgoing(Protocol):
    """A message that is put into words only when it leaves."""

    @property
    def size(self) -> int:
        """Roughly, in bytes."""
        ...

    def absorb(self, later: Outgoing) -> bool:
        """Take in the message that came next, if both say the same as one."""
        ...

    def body(self) -> bytes: ...


class _Ready:
    """A message in its final form."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self.size = len(body)

    def absorb(self, later: Outgoing) -> bool:
        return False

    def body(self) -> bytes:
        return self._body


class Outbox:
    """Belongs to the loop; one writer thread empties it."""

    def __init__(
        self, descriptor: int, loop: asyncio.AbstractEventLoop, *, on_broken: Callable[[], None]
    ) -> None:
        self._loop = loop
        self._on_broken = on_broken
        self._waiting: deque[Outgoing] = deque()
        self._size = 0
        self._flushing = False
        self._room = asyncio.Event()
        self._room.set()
        self._writer = WireWriter(descriptor, on_drained=self._drained, on_broken=self._broke)

    def start(self) -> None:
        self._writer.start()

    def send(self, body: bytes) -> None:
        """A finished message; never blocks."""
        self.put(_Ready(body))

    def put(self, message: Outgoing) -> None:
        """A message that may still be merged with its neighbours; never blocks."""
        if self._waiting and self._writer.unsent >= _AHEAD:
            last = self._waiting[-1]
            before = last.size
            if last.absorb(message):
                self._grow(last.size - before)
                return
        self._waiting.append(message)
        self._grow(message.size)
        if not self._flushing:
            self._flushing = True
            self._loop.call_soon(self._flush)

    @property
    def full(self) -> bool:
        return not self._room.is_set()

    async def room(self) -> None:
        """Wait for the client to read, for a bounded time."""
        try:
            async with asyncio.timeout(_ROOM_WAIT):
                await self._room.wait()
        except TimeoutError:
            return

    def close(self, seconds: float) -> bool:
        """Send what is left, for at most so long; blocks, and nothing can be sent afterwards."""
        while self._waiting:
            self._writer.write(frame(self._waiting.popleft().body()))
        return self._writer.close(seconds)

    def _flush(self) -> None:
        """Give the writer what it may have; the rest waits for it to be drained."""
        self._flushing = False
        frames: list[bytes] = []
        ahead = self._writer.unsent
        while self._waiting and ahead < _AHEAD:
            message = self._waiting.popleft()
            self._size -= message.size
            framed = frame(message.body())
            frames.append(framed)
            ahead += len(framed)
        if frames:
            self._writer.write(b"".join(frames))
        if self._size < _HIGH_WATER:
            self._room.set()

    def _grow(self, size: int) -> None:
        self._size += size
        if self._size >= _HIGH_WATER:
            self._room.clear()

    def _drained(self) -> None:
        if self._waiting:
            self._call(self._flush)

    def _broke(self) -> None:
        self._call(self._on_broken)

    def _call(self, callback: Callable[[], object]) -> None:
        try:
            self._loop.call_soon_threadsafe(callback)
        except RuntimeError:  # the loop is closed: the process is ending
            return
