"""The thread that writes a log, so that a disk that does not answer never holds up more than one wait."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from queue import Empty, SimpleQueue

from pilothouse_agent.session.log.log_file import LogFile

__all__ = ["LogWriter"]

logger = logging.getLogger(__name__)

_AGAIN = 1.0
"""Seconds between tries while the disk refuses."""


@dataclass(slots=True)
class _Work:
    lines: bytes
    sync: bool
    done: Callable[[], None]


class LogWriter:
    """Appends in order; what cannot be written now is kept and written as soon as it can be."""

    def __init__(self, make: Callable[[], LogFile], *, troubled: Callable[[str | None], None]) -> None:
        """`make` opens the file in the thread, when there is something to write. `troubled` is told in the
        event loop of what keeps the log from being written, and None when all of it stands again."""
        self._make = make
        self._troubled = troubled
        self._file: LogFile | None = None
        self._work: SimpleQueue[_Work | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._left = b""
        """What the disk has refused so far."""

    def append(self, lines: bytes, *, sync: bool, limit: float) -> asyncio.Future[None]:
        """Ends when the operating system has the lines, and after `limit` seconds in any case. With `sync`
        the disk is told to have them too, which is not waited for."""
        if self._thread is None:
            self._loop = asyncio.get_running_loop()
            self._thread = threading.Thread(target=self._run, name="session-log", daemon=True)
            self._thread.start()
        loop = self._loop
        assert loop is not None
        ended = loop.create_future()
        timer = loop.call_later(limit, _end, ended)
        ended.add_done_callback(lambda _: timer.cancel())
        self._work.put(_Work(lines, sync, lambda: self._tell(_end, ended)))
        return ended

    async def close(self, limit: float) -> bool:
        """Write what is left and let the file go; whether that was done within `limit` seconds."""
        thread = self._thread
        if thread is None:
            return True
        self._thread = None
        self._work.put(None)
        await asyncio.to_thread(thread.join, limit)
        return not thread.is_alive() and not self._left

    def _run(self) -> None:
        while True:
            try:
                work = self._work.get(timeout=_AGAIN if self._left else None)
            except Empty:
                self._write(b"")
                continue
            if work is None:
                break
            self._write(work.lines)
            # Whoever waits needs to know that the operating system has it; power is lost seldom.
            work.done()
            if work.sync:
                self._sync()
        if self._left:
            self._write(b"")
        if self._file is not None:
            self._file.close()

    def _write(self, lines: bytes) -> None:
        had_trouble = bool(self._left)
        self._left += lines
        try:
            if self._file is None:
                self._file = self._make()
            self._file.append(self._left)
        except OSError as error:
            if not had_trouble:
                logger.warning("The log of a session cannot be written: %s", error)
                self._tell(self._troubled, error.strerror or str(error))
            return
        self._left = b""
        if had_trouble:
            self._sync()
            self._tell(self._troubled, None)

    def _sync(self) -> None:
        try:
            if self._file is not None and not self._left:
                self._file.sync()
        except OSError as error:
            logger.warning("The log of a session may not be safe from a loss of power: %s", error)

    def _tell(self, function: Callable[..., None], *arguments: object) -> None:
        assert self._loop is not None
        try:
            self._loop.call_soon_threadsafe(function, *arguments)
        except RuntimeError:
            # The loop has ended; nobody is left to be told.
            return


def _end(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
