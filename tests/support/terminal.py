"""A program on a terminal of its own, watched and typed at."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence

__all__ = ["Terminal"]

_LIMIT = 20.0


class Terminal:
    """All three standard streams are the terminal. `seen` is everything written to it so far."""

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        *,
        columns: int = 80,
        controlling: bool = True,
    ) -> None:
        """Unless it is `controlling`, the program cannot open it by the name /dev/tty."""
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self._process = subprocess.Popen(
            command,
            env=environment,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=_take_terminal if controlling else None,
        )
        os.close(slave)
        self.seen = ""

    def until(self, text: str, *, times: int = 1) -> None:
        """Read until `text` has been written so many times."""
        deadline = time.monotonic() + _LIMIT
        while self.seen.count(text) < times:
            assert time.monotonic() < deadline, f"{text!r} did not come; there was:\n{self.seen}"
            self._read(0.1)

    @property
    def echoes(self) -> bool:
        """Whether what is typed now would be shown, a line at a time: how a shell wants it."""
        wanted = termios.ECHO | termios.ICANON
        return termios.tcgetattr(self._master)[3] & wanted == wanted

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def until_stopped(self) -> None:
        """By the key for it, or by a signal."""
        os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WNOWAIT)

    def go_on(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def until_silent(self) -> None:
        """Until the program has taken the terminal, so that keys are not echoed."""
        deadline = time.monotonic() + _LIMIT
        while self.echoes:
            assert time.monotonic() < deadline, "the program does not take the terminal"
            self._read(0.02)

    def wait(self) -> int:
        """Read to the end; the exit code."""
        deadline = time.monotonic() + _LIMIT
        while self._read(0.1) or self._process.poll() is None:
            assert time.monotonic() < deadline, f"it did not end; there was:\n{self.seen}"
        return self._process.wait(_LIMIT)

    def close(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait(_LIMIT)
        os.close(self._master)

    def _read(self, patience: float) -> bool:
        if not select.select([self._master], [], [], patience)[0]:
            return False
        try:
            data = os.read(self._master, 65536)
        except OSError:  # what Linux says when the other end is closed
            return False
        self.seen += data.decode()
        return bool(data)


def _take_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
