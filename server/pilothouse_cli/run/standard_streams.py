"""Standard output and standard error of this process, and what they are."""

from __future__ import annotations

import os
import sys

from pilothouse_cli.run.output import Output
from pilothouse_cli.terminal.screen import Screen
from pilothouse_cli.terminal.style import style_of
from pilothouse_cli.terminal.text import prose

__all__ = ["StandardStreams"]


class StandardStreams:
    """The screen is standard error. Made inside the event loop."""

    def __init__(self) -> None:
        self.shared = _same_terminal()
        """Both go to one terminal, so that they are written by one thread, in order."""
        self.style = style_of(sys.stderr, os.environ)
        self.live = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        """Whether the screen can show things that go away again."""
        self.out = Output(1, encoding=sys.stdout.encoding)
        self._err = self.out if self.shared else Output(2, encoding=sys.stderr.encoding)
        self.screen = Screen(
            self._err.write,
            width=lambda: _size().columns if self.live else sys.maxsize,
            height=lambda: _size().lines if self.live else sys.maxsize,
        )

    def answer(self, text: str) -> None:
        """As it stands, for whoever reads standard output; on a terminal with nothing in it that acts."""
        ending = "" if text.endswith("\n") or not text else "\n"
        self.out.write((prose(text) if sys.stdout.isatty() else text) + ending)

    def abandon(self) -> None:
        """Wait no longer for whoever reads them."""
        self.out.abandon()
        self._err.abandon()

    async def close(self) -> None:
        """Returns when all is written, or at once when they were abandoned."""
        self.screen.end()
        await self.out.close()
        await self._err.close()


def _same_terminal() -> bool:
    return os.isatty(1) and os.isatty(2) and os.fstat(1).st_rdev == os.fstat(2).st_rdev


def _size() -> os.terminal_size:
    """What a terminal does not know of itself is what most of them have."""
    try:
        columns, lines = os.get_terminal_size(2)
    except OSError:
        columns, lines = 0, 0
    return os.terminal_size((columns or 80, lines or 24))
