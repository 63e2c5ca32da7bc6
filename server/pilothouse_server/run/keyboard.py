"""Lines typed by a person."""

from __future__ import annotations

import asyncio
import os
import sys
import termios
from types import TracebackType

__all__ = ["Keyboard"]

_LINE = 4096


class Keyboard:
    """The terminal's own input, whatever standard input is. As a context manager it closes it again."""

    def __init__(self) -> None:
        """Raises OSError without a terminal."""
        self._descriptor = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY | os.O_CLOEXEC)

    def __enter__(self) -> Keyboard:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._descriptor)

    def forget(self) -> None:
        """Drop what was typed already: it was not meant for what is asked next."""
        termios.tcflush(self._descriptor, termios.TCIFLUSH)

    async def line(self) -> str | None:
        """The next line without its end; None at end of input. Can be cancelled at any time."""
        loop = asyncio.get_running_loop()
        ready = asyncio.Event()
        loop.add_reader(self._descriptor, ready.set)
        try:
            await ready.wait()
        finally:
            loop.remove_reader(self._descriptor)
        data = await asyncio.to_thread(os.read, self._descriptor, _LINE)
        return data.decode(sys.stdin.encoding or "utf-8", "replace").rstrip("\r\n") if data else None
