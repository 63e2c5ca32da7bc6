"""The keys of a person at the terminal: one at a time, and none of them echoed into what is shown."""

from __future__ import annotations

import asyncio
import codecs
import os
import select
import signal
from collections.abc import Awaitable
from types import TracebackType
from typing import Any

__all__ = ["Keyboard"]

_PIECE = 4096


class Keyboard:
    """The terminal's own input, whatever standard input is.

    As a context manager, within the event loop, it takes the terminal and gives it back as it was.
    """

    def __init__(self, terminal: str = "/dev/tty") -> None:
        """Raises OSError where there is no terminal."""
        try:
            import termios
        except ImportError:
            raise OSError("this system has no terminals") from None
        self._termios = termios
        self._descriptor = os.open(terminal, os.O_RDONLY | os.O_NOCTTY | os.O_CLOEXEC)
        self._before: list[Any] | None = None
        """How the terminal was, as long as it is ours."""

    def __enter__(self) -> Keyboard:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTSTP, self._suspend)
        loop.add_signal_handler(signal.SIGCONT, self._take)
        loop.add_signal_handler(signal.SIGQUIT, self._quit)
        self._take()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTSTP, signal.SIGCONT, signal.SIGQUIT):
            loop.remove_signal_handler(number)
        self._give_back()
        os.close(self._descriptor)

    def forget(self) -> None:
        """Drop what was typed already: it was not meant for what is asked next. Raises OSError."""
        try:
            self._termios.tcflush(self._descriptor, self._termios.TCIFLUSH)
        except self._termios.error as error:
            raise OSError(*error.args) from None

    async def keys(self) -> str | None:
        """What is typed next, mostly one key; None at end of input. Can be cancelled; raises OSError."""
        self._take()
        data = await self._read()
        return None if data in (b"", b"\x04") else data.decode("utf-8", "replace")

    def line(self) -> Awaitable[str | None]:
        """A line without its end, None at end of input; seen as it is typed, from this call on."""
        self._give_back()
        return self._line()

    async def _line(self) -> str | None:
        typed = b""
        try:
            while not typed.endswith(b"\n"):
                data = await self._read()
                if not data:
                    return None
                typed += data
        finally:
            self._take()
        return codecs.decode(typed, "utf-8", "replace").rstrip("\r\n")

    async def _read(self) -> bytes:
        """A thread waits, not the event loop: on macOS no loop can watch the terminal by this name."""
        withdrawn, withdraw = os.pipe()
        try:
            return await asyncio.to_thread(_read_unless, withdrawn, self._descriptor)
        finally:
            os.close(withdraw)

    def _take(self) -> None:
        """No echo, and each key at once. In the background it would only stop us; then it waits."""
        termios = self._termios
        try:
            if os.tcgetpgrp(self._descriptor) == os.getpgrp():
                before = self._before or termios.tcgetattr(self._descriptor)
                ours = [*before[:3], before[3] & ~(termios.ECHO | termios.ICANON), *before[4:]]
                termios.tcsetattr(self._descriptor, termios.TCSANOW, ours)
                self._before = before
        except (OSError, termios.error):
            return  # it stays as it is, and answers end with Enter

    def _give_back(self) -> None:
        before, self._before = self._before, None
        try:
            if before is not None:
                self._termios.tcsetattr(self._descriptor, self._termios.TCSANOW, before)
        except (OSError, self._termios.error):
            return  # it has gone away

    def _suspend(self) -> None:
        self._give_back()
        os.kill(os.getpid(), signal.SIGSTOP)

    def _quit(self) -> None:
        self._give_back()
        asyncio.get_running_loop().remove_signal_handler(signal.SIGQUIT)
        os.kill(os.getpid(), signal.SIGQUIT)


def _read_unless(withdrawn: int, terminal: int) -> bytes:
    """What was typed; nothing when the other end of `withdrawn` is closed first. Closes that one."""
    try:
        ready = select.select([terminal, withdrawn], [], [])[0]
        return os.read(terminal, _PIECE) if terminal in ready else b""
    finally:
        os.close(withdrawn)
