"""Program output as text: what a terminal would show of each line, without its control sequences."""

from __future__ import annotations

import re

__all__ = ["TerminalText"]

_LINE_LIMIT = 16_384
_UNFINISHED_LIMIT = 4_096

_ANY_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_BEYOND_RETURN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_STYLE = re.compile(r"\x1b\[[0-9;:]*m")
_SEQUENCE_STRING = r"(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*"
_UNFINISHED = re.compile(rf"(?:(?:\x1b\[|\x9b)[0-?]*[ -/]*|{_SEQUENCE_STRING}\x1b?|\x1b[ -/]*)$")
_TOKEN = re.compile(
    r"(?P<text>(?:[^\x00-\x1f\x7f-\x9f]|\t)+)"
    r"|(?P<return>\r)|(?P<back>\x08)|(?P<nul>\x00)"
    r"|(?:\x1b\[|\x9b)(?P<number>[0-9]*)[0-?]*[ -/]*(?P<final>[@-~])"
    rf"|{_SEQUENCE_STRING}(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]"
    r"|.",
    re.DOTALL,
)


class TerminalText:
    """Cleans a stream of text line by line; its memory is bounded whatever comes.

    Within a line, carriage returns, backspaces, erasing and horizontal moves have their effect, all
    other control sequences have none, and a NUL is shown as U+2400. A carriage return before a line
    feed is part of the line end.
    """

    def __init__(self) -> None:
        self._pending = ""

    def feed(self, text: str) -> str:
        """What has become final: whole lines, or parts of a very long one."""
        text = self._pending + text
        cut = text.rfind("\n") + 1
        self._pending = text[cut:]
        shown = _clean(text[:cut])
        return shown + self._relieve() if len(self._pending) > _LINE_LIMIT else shown

    def finish(self) -> str:
        text, self._pending = self._pending, ""
        return _clean(text)

    def _relieve(self) -> str:
        """Shorten a pending line that grows and grows; what is returned cannot be overwritten any more."""
        unfinished = _UNFINISHED.search(self._pending, max(0, len(self._pending) - _UNFINISHED_LIMIT))
        cut = unfinished.start() if unfinished else len(self._pending)
        settled, rest = self._pending[:cut], self._pending[cut:]
        if not _ANY_CONTROL.search(settled):
            self._pending = rest
            return settled
        line = _Line(settled)
        if len(line.text) > _LINE_LIMIT // 2:
            self._pending = rest
            return line.text
        # Written once more up to the cursor, the line stands as it did.
        self._pending = f"{line.text}\r{line.text[: line.cursor].ljust(line.cursor)}{rest}"
        return ""


def _clean(text: str) -> str:
    if not _ANY_CONTROL.search(text):
        return text
    text = _STYLE.sub("", text).replace("\r\n", "\n")
    if not _ANY_CONTROL.search(text):
        return text
    return "\n".join(_clean_line(line) for line in text.split("\n"))


def _clean_line(line: str) -> str:
    return _Line(line.rstrip("\r")).text if _ANY_CONTROL.search(line) else line


def _without_overwritten(line: str) -> str:
    """The same line, quicker to go through: progress bars repaint themselves thousands of times."""
    if "\r" not in line or _BEYOND_RETURN.search(line):
        return line
    *earlier, last = line.split("\r")
    shown = last
    for part in reversed(earlier):
        shown += part[len(shown) :]
    return f"{shown}\r{last}"


class _Line:
    """One line as it stands on a terminal after all of `source` was written to it."""

    def __init__(self, source: str) -> None:
        self._cells: list[str] = []
        self.cursor = 0
        for token in _TOKEN.finditer(_without_overwritten(source)):
            self._apply(token)

    @property
    def text(self) -> str:
        return "".join(self._cells)

    def _apply(self, token: re.Match[str]) -> None:
        match token.lastgroup:
            case "text":
                self._write(token[0])
            case "nul":
                self._write("\u2400")
            case "return":
                self.cursor = 0
            case "back":
                self.cursor = max(0, self.cursor - 1)
            case "final":
                self._control(token["final"], int(token["number"][:6] or 0))
            case _:
                pass

    def _write(self, text: str) -> None:
        self._pad(self.cursor)
        self._cells[self.cursor : self.cursor + len(text)] = text
        self.cursor += len(text)

    def _control(self, final: str, number: int) -> None:
        match final:
            case "K" | "J":
                self._erase(number)
            case "G":
                self._move(number - 1)
            case "C":
                self._move(self.cursor + max(1, number))
            case "D":
                self._move(self.cursor - max(1, number))
            case _:
                pass

    def _move(self, column: int) -> None:
        self.cursor = max(0, min(column, _LINE_LIMIT, len(self._cells) + _LINE_LIMIT))

    def _erase(self, mode: int) -> None:
        if mode in (0, 2):
            del self._cells[self.cursor :]
        if mode in (1, 2):
            self._cells[: self.cursor] = " " * min(self.cursor, len(self._cells))

    def _pad(self, width: int) -> None:
        self._cells += " " * (width - len(self._cells))
