"""Positions of LSP in a text, in the encoding that was negotiated; never inside a character."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

__all__ = [
    "Encoding",
    "Places",
    "Position",
    "content_of",
    "index_in",
    "lsp_lines",
    "offset_at",
    "position_in",
    "units",
]

Encoding: TypeAlias = Literal["utf-8", "utf-16", "utf-32"]

_CODECS: dict[Encoding, tuple[str, int]] = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2)}
"""The codec and the bytes of one unit, where a unit is not a character."""
_LINE_END = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True, slots=True, order=True)
class Position:
    line: int
    """From 0."""
    character: int
    """From 0, in units of the encoding."""

    def to_wire(self) -> dict[str, int]:
        return {"line": self.line, "character": self.character}


class Places:
    """Offsets in one text as positions; quickest when asked in rising order."""

    def __init__(self, text: str, encoding: Encoding) -> None:
        self._text = text
        self._encoding: Encoding = encoding
        self._last = (0, 0)
        """An offset and its line."""

    def position(self, offset: int) -> Position:
        """`offset` is that of a character or of the end; inside CR LF it counts as before it."""
        text = self._text
        if text[max(0, offset - 1) : offset + 1] == "\r\n":
            offset -= 1
        known, line = self._last if self._last[0] <= offset else (0, 0)
        line += _count_line_ends(text, known, offset)
        self._last = (offset, line)
        start = text.rfind("\n", 0, offset) + 1
        start = max(start, text.rfind("\r", start, offset) + 1)
        return Position(line, units(text[start:offset], self._encoding))


def position_in(value: object) -> Position | None:
    """The position that a client gave, if it is one."""
    fields = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    line, character = fields.get("line"), fields.get("character")
    if type(line) is not int or type(character) is not int or min(line, character) < 0:
        return None
    return Position(line, character)


def offset_at(text: str, position: Position, encoding: Encoding) -> int:
    """Clamped as LSP says: a line too long to its end, a line too far to the end of the text."""
    lines = lsp_lines(text)
    if position.line >= len(lines):
        return len(text)
    before = sum(map(len, lines[: position.line]))
    return before + index_in(lines[position.line], position.character, encoding)


def lsp_lines(text: str) -> list[str]:
    """The lines with their ends, which are LF, CR LF and CR alone; the last one has none and may be empty."""
    if "\r" not in text:
        *ended, last = text.split("\n")
        return [*(line + "\n" for line in ended), last]
    lines: list[str] = []
    start = 0
    for found in _LINE_END.finditer(text):
        lines.append(text[start : found.end()])
        start = found.end()
    return [*lines, text[start:]]


def content_of(line: str) -> str:
    """The line without its end."""
    return line.rstrip("\r\n")


def units(text: str, encoding: Encoding) -> int:
    if encoding == "utf-32" or text.isascii():
        return len(text)
    codec, size = _CODECS[encoding]
    return len(text.encode(codec, "surrogatepass")) // size


def index_in(line: str, character: int, encoding: Encoding) -> int:
    """The index in the line: at most that of its end mark; within a character that of its start."""
    content = content_of(line)
    if encoding == "utf-32" or content.isascii():
        return min(character, len(content))
    upper = min(character, len(content))
    return bisect_right(range(upper + 1), character, key=lambda end: units(content[:end], encoding)) - 1


def _count_line_ends(text: str, start: int, end: int) -> int:
    """Neither place is inside CR LF."""
    carriage_returns = text.count("\r", start, end)
    pairs = text.count("\r\n", start, end) if carriage_returns else 0
    return text.count("\n", start, end) + carriage_returns - pairs
