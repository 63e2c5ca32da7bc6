"""The thread that reads the wire; it runs no user code."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable

__all__ = ["WireReader"]

_CHUNK = 64 * 1024
_AHEAD = 8
"""Chunks read ahead of the loop before the thread waits; the loop takes no more in one go."""


class WireReader:
    """Hands what it reads to the loop, in order; `on_end` is called once, at end of input or an error.
    Just before that `on_closed` is called in the reader's own thread, whatever the loop is doing.

    A thread because it works for pipes, files, sockets and terminals alike. It is a daemon that
    sits in a plain read, so it never holds up the end of the process.
    """

    def __init__(
        self,
        descriptor: int,
        loop: asyncio.AbstractEventLoop,
        *,
        on_data: Callable[[bytes], None],
        on_end: Callable[[], None],
        on_closed: Callable[[], None] = lambda: None,
    ) -> None:
        self._descriptor = descriptor
        self._loop = loop
        self._on_data = on_data
        self._on_end = on_end
        self._on_closed = on_closed
        self._room = threading.Semaphore(_AHEAD)
        self._thread = threading.Thread(target=self._read, name="wire-reader", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def _read(self) -> None:
        while data := self._read_chunk():
            self._room.acquire()
            if not self._call(self._deliver, data):
                return
        self._on_closed()
        self._call(self._on_end)

    def _read_chunk(self) -> bytes:
        try:
            return os.read(self._descriptor, _CHUNK)
        except OSError:
            return b""

    def _deliver(self, data: bytes) -> None:
        self._room.release()
        self._on_data(data)

    def _call(self, callback: Callable[..., None], *arguments: bytes) -> bool:
        try:
            self._loop.call_soon_threadsafe(callback, *arguments)
        except RuntimeError:  # the loop is closed: the process is ending
            return False
        return True
