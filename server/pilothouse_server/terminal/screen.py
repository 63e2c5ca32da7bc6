"""The one place that writes for people: the model's words, whole lines, and a status line that goes away."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

__all__ = ["Screen"]

_ERASE = "\r\x1b[K"
_FALLBACK_COLUMNS = 80


class Screen:
    """Keeps words, lines and the status apart, with a blank line between words and lines.

    `put` takes the text in pieces, in order.
    """

    def __init__(
        self, put: Callable[[str], None], *, width: Callable[[], int] = lambda: _FALLBACK_COLUMNS
    ) -> None:
        self._put = put
        self._width = width
        self._column = 0
        """Not a position: 0 at the start of a line, else 1."""
        self._last: Literal["words", "lines"] | None = None
        self._status = ""
        self._asking = False

    @property
    def width(self) -> int:
        return max(20, self._width())

    def say(self, text: str) -> None:
        """Words of the model as they come; new lines in them are theirs."""
        if not text:
            return
        lead = self._cleared()
        if self._last == "lines":
            lead += "\n"
        self._last = "words"
        self._column = int(not text.endswith("\n"))
        self._put(lead + text)

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
        self._column = 1
        self._asking = True

    def answered(self, *, ended_line: bool) -> None:
        """`ended_line`: the user has pressed Enter, so the cursor is at the start of a line."""
        self._asking = False
        if ended_line:
            self._column = 0

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
        lead = self._cleared() + ("\n" if self._column else "")
        self._column = 0
        return lead
