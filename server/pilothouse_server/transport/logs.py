"""What the server says of itself: warnings to stderr, more to a file; never a message's content, never a key.

Neither can hold up the event loop: stderr is written only while somebody takes it, the file by a thread.
"""

from __future__ import annotations

import logging
import os
import queue
import select
import threading
from contextlib import suppress
from pathlib import Path

__all__ = ["InertFormatter", "StderrHandler", "ThreadHandler", "log_to_file", "log_to_stderr"]

_WAITING_AT_MOST = 1000
_LAST_RECORDS = 0.1
"""Seconds for the thread to write what is left at the end."""
_HEAD = 1024
_CUT = b"\n...\n"


class StderrHandler(logging.Handler):
    """Drops what a full pipe would make us wait for."""

    def __init__(self, descriptor: int = 2) -> None:
        super().__init__(logging.WARNING)
        self._descriptor = descriptor

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(OSError, ValueError):
            if select.select([], [self._descriptor], [], 0)[1]:
                os.write(self._descriptor, _cut(self.format(record).encode("utf-8", "backslashreplace")))


class ThreadHandler(logging.Handler):
    """Hands records to a thread that gives them to `target`; drops them when that cannot follow."""

    def __init__(self, target: logging.Handler, *, room: int = _WAITING_AT_MOST) -> None:
        super().__init__(logging.INFO)
        self._target = target
        self._records: queue.Queue[logging.LogRecord | None] = queue.Queue(room)
        self._thread = threading.Thread(target=self._write, name="log", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(queue.Full):
            self._records.put_nowait(record)

    def close(self) -> None:
        """Waits for what is left, for a moment."""
        with suppress(queue.Full):
            self._records.put_nowait(None)
        self._thread.join(_LAST_RECORDS)
        super().close()

    def _write(self) -> None:
        while (record := self._records.get()) is not None:
            self._target.handle(record)
        self._target.close()


class InertFormatter(logging.Formatter):
    """Nothing in a record acts, and a message stays one line; only a traceback has lines of its own."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        return _visible(super().formatMessage(record), lines=False)

    def format(self, record: logging.LogRecord) -> str:
        return _visible(super().format(record), lines=True)


def log_to_stderr() -> None:
    logging.raiseExceptions = False
    handler = StderrHandler()
    handler.setFormatter(InertFormatter("%(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])


def log_to_file(path: Path) -> None:
    """Our own records from info on, those of libraries from warnings on. Blocks; to be called once.

    A file that cannot be written is done without, which is said on stderr.
    """
    from pilothouse_server.transport.private_log import PrivateLog

    try:
        target = PrivateLog(path)
    except OSError as error:
        logging.getLogger(__name__).warning("No log is kept in %s: %s", path, error.strerror or error)
        return
    target.setFormatter(InertFormatter("%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"))
    logging.getLogger().addHandler(ThreadHandler(target))
    for package in ("pilothouse_agent", "pilothouse_server", "pilothouse_cli"):
        logging.getLogger(package).setLevel(logging.INFO)


def _visible(text: str, *, lines: bool) -> str:
    from pilothouse_agent.tools.visible import visible

    return visible(text, lines=lines)


def _cut(text: bytes) -> bytes:
    """What a pipe takes at once: the beginning, and the end, where a traceback says what happened."""
    room = select.PIPE_BUF - 1
    if len(text) > room:
        text = text[:_HEAD] + _CUT + text[_HEAD + len(_CUT) - room :]
    return text + b"\n"
