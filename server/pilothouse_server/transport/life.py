"""The life of the process: from the first byte to the exit code, whatever ends it."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Awaitable, Callable
from typing import Protocol

from pilothouse_server.transport.descriptors import Wire
from pilothouse_server.transport.frames import FrameError, FrameParser
from pilothouse_server.transport.outbox import Outbox
from pilothouse_server.transport.reader import WireReader

__all__ = ["Life", "Receiver"]

logger = logging.getLogger(__name__)

_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_TEARDOWN_AFTER_EXIT = 1.5
_TEARDOWN = 3.0
_FLUSH = 0.5
"""Seconds; the last part of the teardown is for the client to read what is left."""
_PARENT_CHECK = 1.0


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
    """

    def __init__(self, wire: Wire, loop: asyncio.AbstractEventLoop) -> None:
        self.outbox = Outbox(wire.write, loop, on_broken=lambda: self.end(1, "the client closed the pipe"))
        self._wire = wire
        self._loop = loop
        self._parser = FrameParser()
        self._ended = asyncio.Event()
        self._code = 0
        self._limit = _TEARDOWN

    def end(self, code: int, why: str, *, after_exit: bool = False) -> None:
        """The first call decides; later ones are ignored."""
        if self._ended.is_set():
            return
        logger.info("The server ends: %s", why)
        self._code = code
        self._limit = _TEARDOWN_AFTER_EXIT if after_exit else _TEARDOWN
        self._ended.set()

    async def run(self, receiver: Receiver, teardown: Callable[[], Awaitable[None]]) -> int:
        """Returns the exit code. What `teardown` leaves undone in its time is left."""
        for number in _SIGNALS:
            self._loop.add_signal_handler(number, self.end, 128 + number, f"signal {number}")
        self.outbox.start()
        reader = WireReader(
            self._wire.read,
            self._loop,
            on_data=lambda data: self._feed(data, receiver),
            on_end=lambda: self.end(receiver.exit_code, "end of input"),
        )
        reader.start()
        await self._ended.wait()
        await self._tear_down(teardown)
        return self._code

    def watch_parent(self, process_id: int) -> asyncio.Task[None]:
        """End when the process that started us is gone, though somebody else holds the pipe open."""
        return asyncio.create_task(self._watch_parent(process_id))

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
            self.end(1, f"broken framing: {error}")

    async def _tear_down(self, teardown: Callable[[], Awaitable[None]]) -> None:
        try:
            async with asyncio.timeout(self._limit - _FLUSH):
                await teardown()
        except TimeoutError:
            logger.warning("The teardown did not finish in time")
        except Exception:
            logger.exception("The teardown failed")
        await asyncio.to_thread(self.outbox.close, _FLUSH)

    async def _watch_parent(self, process_id: int) -> None:
        await _gone(process_id)
        self.end(1, "the client's process is gone")


async def _gone(process_id: int) -> None:
    """Returns when there is no such process, at no cost meanwhile where the system can tell."""
    try:
        descriptor = os.pidfd_open(process_id)
    except ProcessLookupError:
        return
    except (AttributeError, OSError, OverflowError):
        await _gone_by_polling(process_id)
        return
    gone = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(descriptor, gone.set)
    try:
        await gone.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


async def _gone_by_polling(process_id: int) -> None:
    while _alive(process_id):  # noqa: ASYNC110 - nobody could set an event
        await asyncio.sleep(_PARENT_CHECK)


def _alive(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
