"""The life of the process: from the first byte to the exit code, whatever ends it."""

from __future__ import annotations

import asyncio
import logging
import os
import stat
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Protocol

from pilothouse_server.transport.outbox import Outbox
from pilothouse_server.transport.parent import gone
from pilothouse_server.transport.reader import WireReader
from pilothouse_server.wire.descriptors import Wire
from pilothouse_server.wire.entry import ending_signals
from pilothouse_server.wire.frames import FrameError, FrameParser

__all__ = ["Life", "Receiver"]

logger = logging.getLogger(__name__)

_AFTER_EXIT = 0.6
_OTHERWISE = 2.0
"""Seconds for the teardown."""
_FLUSH = 0.3
"""Then for the client, to read what is left."""
_OVERDUE = 0.4
"""Then for whatever else there is, before the process is ended by force: after 1.3 s or 2.7 s in all."""
_UNHEARD = 5.0
"""Seconds after the end of input, when the loop is too busy even to hear of it."""


class Receiver(Protocol):
    def receive(self, body: bytes) -> None: ...

    def refuse_frame(self, reason: str) -> None:
        """Tell the client that its stream is broken; nothing more is read."""
        ...

    @property
    def exit_code(self) -> int: ...


class Life:
    """Runs the wire until something ends it: exit, end of input, a signal, a closed pipe, a dead parent.

    All ends run the same `teardown`, bounded; the process then ends with the code of the first cause.
    `force` is called with that code, in a thread, when it has not ended by then.
    """

    def __init__(
        self,
        wire: Wire,
        loop: asyncio.AbstractEventLoop,
        *,
        force: Callable[[int], object] = lambda code: None,
    ) -> None:
        self.outbox = Outbox(wire.write, loop, on_broken=self._lost_client)
        self._wire = wire
        self._loop = loop
        self._force = force
        self._parser = FrameParser()
        self._ended = asyncio.Event()
        self._code = 1
        self._limit = _OTHERWISE

    def end(self, code: int, why: str, *, after_exit: bool = False) -> None:
        """The first call decides; later ones are ignored."""
        if self._ended.is_set():
            return
        logger.info("The server ends: %s", why)
        self._code = code
        self._limit = _AFTER_EXIT if after_exit else _OTHERWISE
        self._ended.set()
        self._arm(self._limit + _FLUSH + _OVERDUE)

    async def run(self, receiver: Receiver, teardown: Callable[[], Awaitable[None]]) -> int:
        """Returns the exit code. What `teardown` leaves undone in its time is left."""
        for number in ending_signals().values():
            self._loop.add_signal_handler(number, self.end, 128 + number, f"signal {number}")
        self.outbox.start()
        self._watch_output()
        reader = WireReader(
            self._wire.read,
            self._loop,
            on_data=lambda data: self._feed(data, receiver),
            on_end=lambda: self.end(receiver.exit_code, "end of input"),
            on_closed=lambda: self._arm(_UNHEARD),
        )
        reader.start()
        await self._ended.wait()
        self.outbox.hurry()
        await self._tear_down(teardown)
        await self.outbox.close(_FLUSH)
        return self._code

    def watch_parent(self, process_id: int) -> asyncio.Task[None]:
        """End when the process that started us is gone, though somebody else holds the pipe open."""
        return asyncio.create_task(self._watch_parent(process_id))

    def _arm(self, seconds: float) -> None:
        """From then on the process is ended by force."""
        timer = threading.Timer(seconds, lambda: self._force(self._code))
        timer.daemon = True
        timer.start()

    def _feed(self, data: bytes, receiver: Receiver) -> None:
        if self._ended.is_set():
            return
        self._parser.push(data)
        try:
            for body in self._parser.bodies():
                receiver.receive(body)
                if self._ended.is_set():
                    return
        except FrameError as error:
            receiver.refuse_frame(str(error))
            self.end(1, "broken framing")

    def _watch_output(self) -> None:
        """A pipe's other end tells when it is closed; else a write would find out."""
        if stat.S_ISFIFO(os.fstat(self._wire.write).st_mode):
            with suppress(OSError):
                self._loop.add_reader(self._wire.write, self._lost_client)

    def _lost_client(self) -> None:
        self._loop.remove_reader(self._wire.write)
        self.end(1, "the client closed the pipe")

    async def _tear_down(self, teardown: Callable[[], Awaitable[None]]) -> None:
        tearing = asyncio.ensure_future(teardown())
        await asyncio.wait({tearing}, timeout=self._limit)
        if not tearing.done():
            logger.warning("The teardown did not finish in time")
        elif not tearing.cancelled() and (error := tearing.exception()) is not None:
            logger.error("The teardown failed", exc_info=error)

    async def _watch_parent(self, process_id: int) -> None:
        await gone(process_id)
        self.end(1, "the client's process is gone")
