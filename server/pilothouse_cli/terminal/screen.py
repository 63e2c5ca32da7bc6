"""The one place that writes for people: the model's words, whole lines, and a status line that goes away."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Literal

from pilothouse_cli.terminal.wrap import Wrap

__all__ = ["Screen"]

_ERASE = "\r\x1b[K"


class Screen:
    """Keeps words, lines and the status apart, with a blank line between words and lines.

    `put` takes the text in pieces, in order. `width` is in columns, without one nothing is wrapped.
    """

    def __init__(
        self,
        put: Callable[[str], None],
        *,
        width: Callable[[], int] = lambda: sys.maxsize,
        height: Callable[[], int] = lambda: sys.maxsize,
    ) -> None:
        self._put = put
        self._width = width
        self._height = height
        self._wrap = Wrap()
        self._open = False
        """A question has left the cursor behind it."""
        self._last: Literal["words", "lines"] | None = None
        self._status = ""
        self._asking = False

    @property
    def width(self) -> int:
        return max(20, self._width())

    @property
    def height(self) -> int:
        """In rows."""
        return max(10, self._height())

    def say(self, text: str) -> None:
        """Words of the model as they come; the last one is shown when it is known to be whole."""
        if not text:
            return
        lead = f"{self._fresh()}\n" if self._last == "lines" else self._cleared()
        self._last = "words"
        if shown := lead + self._wrap.feed(text, self.width):
            self._put(shown)

    def line(self, text: str) -> None:
        lead = self._fresh()
        if self._last == "words":
            lead += "\n"
        self._last = "lines"
        self._put(f"{lead}{text}\n")

    def ask(self, text: str) -> None:
        """Leave the cursor behind `text`, for the user to type; no status is shown until `answered`."""
        self._put(self._fresh() + text)
        self._last = "lines"
        self._open = self._asking = True

    def answered(self, typed: str | None) -> None:
        """`typed` is shown, as the terminal did not echo it; None leaves the question's line as it is."""
        self._asking = False
        self._open = typed is None
        if typed is not None:
            self._put(f"{typed}\n")

    def entered(self) -> None:
        """The answer was echoed, and ended by Enter."""
        self._asking = self._open = False

    def end(self) -> None:
        """Leave the cursor at the start of a line, with no status."""
        if lead := self._fresh():
            self._put(lead)

    def status(self, text: str) -> None:
        """Show it below all else until something is written or it changes; empty takes it away."""
        if text == self._status or self._asking:
            return
        lead = self._fresh()
        self._status = text
        self._put(lead + text)

    @property
    def room(self) -> int:
        """Columns that a status may have."""
        return self.width - 1

    def _cleared(self) -> str:
        erased = _ERASE if self._status else ""
        self._status = ""
        return erased

    def _fresh(self) -> str:
        """What takes the status away and ends a line that is not ended."""
        lead = self._cleared() + self._wrap.flush(self.width)
        if self._wrap.column or self._open:
            lead += "\n"
        self._wrap.restart()
        self._open = False
        return lead
