"""The pipe behind an outbox, and the client that reads it only when it is told to."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeAlias

from pilothouse_server.transport.outbox import Outbox
from pilothouse_server.wire.frames import FrameParser

__all__ = ["BLOCKED", "Pipe", "piped"]

Json: TypeAlias = dict[str, Any]

BLOCKED = b'"%b"' % (b"x" * 600_000)
"""A message with which the pipe and what goes ahead of it are full."""


class Pipe:
    def __init__(self) -> None:
        self._end, self.entry = os.pipe()
        self._parser = FrameParser()
        self._bodies: list[bytes] = []
        self.broken = asyncio.Event()
        """Set by the outbox."""

    async def read(self) -> Any:
        """The next message; None at the end. Bounded."""
        while not self._bodies:
            await self._readable()
            data = os.read(self._end, 1 << 20)
            if not data:
                return None
            self._parser.push(data)
            self._bodies += self._parser.bodies()
        return json.loads(self._bodies.pop(0))

    async def _readable(self) -> None:
        loop, event = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(self._end, event.set)
        try:
            await asyncio.wait_for(event.wait(), 5)
        finally:
            loop.remove_reader(self._end)

    async def take(self, count: int) -> list[Any]:
        return [await self.read() for _ in range(count)]

    def close(self) -> None:
        """Read no more."""
        if self._end >= 0:
            os.close(self._end)
            self._end = -1

    def close_entry(self) -> None:
        with suppress(OSError):
            os.close(self.entry)


@asynccontextmanager
async def piped() -> AsyncGenerator[tuple[Outbox, Pipe]]:
    pipe = Pipe()
    outbox = Outbox(pipe.entry, asyncio.get_running_loop(), on_broken=pipe.broken.set)
    outbox.start()
    try:
        yield outbox, pipe
    finally:
        pipe.close()
        await outbox.close(5)
        pipe.close_entry()
