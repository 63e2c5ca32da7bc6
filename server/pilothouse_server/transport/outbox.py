"""Everything that goes out, in one order, bounded when the client reads slowly."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections import deque
from collections.abc import Callable
from typing import Protocol

from pilothouse_server.wire.frames import frame
from pilothouse_server.wire.writer import WireWriter

__all__ = ["Outbox", "Outgoing"]

logger = logging.getLogger(__name__)

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

    def body(self) -> bytes:
        """Called once. Raises when the message cannot be put into words; it is then left out."""
        ...


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
        self._waiting: deque[Outgoing] = deque()
        self._size = 0
        self._flushing = False
        self._hurried = False
        self._room = asyncio.Event()
        self._room.set()
        self._ended = asyncio.Event()
        self._writer = WireWriter(
            descriptor,
            on_drained=self._drained,
            on_broken=lambda: self._call(on_broken),
            on_ended=lambda: self._call(self._ended.set),
        )

    def start(self) -> None:
        self._writer.start()

    def send(self, body: bytes) -> None:
        """A finished message; never blocks."""
        self.put(_Ready(body))

    def put(self, message: Outgoing, *, eager: bool = False) -> None:
        """A message that may still be merged with its neighbours; never blocks.

        Neighbours are merged where the client reads slowly; an `eager` one also joins what came just
        before it, in the same step of the loop, so that nothing is delayed by it.
        """
        if self._waiting and (eager or self._writer.unsent >= _AHEAD):
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

    def settle(self) -> None:
        """Put into words what is waiting: nothing is merged into it any more, and events have their seq."""
        bodies = [body for message in self._waiting if (body := _worded(message)) is not None]
        self._waiting = deque(_Ready(body) for body in bodies)
        self._size = sum(map(len, bodies))

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

    def hurry(self) -> None:
        """The end is near: nobody is asked to wait for the client any more."""
        self._hurried = True
        self._room.set()

    async def close(self, seconds: float) -> bool:
        """Send what is left, for at most so long, and nothing afterwards; whether all of it was sent."""
        self._flush(ahead=sys.maxsize)
        self._writer.finish()
        try:
            async with asyncio.timeout(seconds):
                await self._ended.wait()
        except TimeoutError:
            return False
        return True

    def _flush(self, *, ahead: int = _AHEAD) -> None:
        """Give the writer what it may have; the rest waits for it to be drained."""
        self._flushing = False
        frames: list[bytes] = []
        unsent = self._writer.unsent
        while self._waiting and unsent < ahead:
            message = self._waiting.popleft()
            self._size -= message.size
            if (body := _worded(message)) is not None:
                frames.append(frame(body))
                unsent += len(frames[-1])
        if frames:
            self._writer.write(b"".join(frames))
        if self._size < _HIGH_WATER:
            self._room.set()

    def _grow(self, size: int) -> None:
        self._size += size
        if self._size >= _HIGH_WATER and not self._hurried:
            self._room.clear()

    def _drained(self) -> None:
        if self._waiting:
            self._call(self._flush)

    def _call(self, callback: Callable[[], object]) -> None:
        try:
            self._loop.call_soon_threadsafe(callback)
        except RuntimeError:  # the loop is closed: the process is ending
            return


def _worded(message: Outgoing) -> bytes | None:
    """One message that cannot be put into words must not take its neighbours along."""
    try:
        return message.body()
    except Exception:
        logger.exception("A message could not be put into JSON and was left out")
        return None
