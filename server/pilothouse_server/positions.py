"""Positions of LSP in a text, in the encoding that was negotiated; never inside a character."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal, TypeAlias

__all__ = ["Encoding", "Places", "Position", "content_of", "index_in", "lsp_lines", "units"]

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
    """Offsets in one text as positions and back."""

    def __init__(self, text: str, encoding: Encoding) -> None:
        self._lines: Sequence[str] = lsp_lines(text)
        self._starts = list(accumulate(map(len, self._lines), initial=0))
        self._encoding: Encoding = encoding

    def position(self, offset: int) -> Position:
        """`offset` is that of a character or of the end; inside CR LF it counts as before it."""
        line = min(bisect_right(self._starts, offset) - 1, len(self._lines) - 1)
        before = content_of(self._lines[line])[: offset - self._starts[line]]
        return Position(line, units(before, self._encoding))

    def offset(self, position: Position) -> int:
        """Clamped as LSP says: a line too long to its end, a line too far to the end of the text."""
        if position.line >= len(self._lines):
            return self._starts[-1]
        index = index_in(self._lines[position.line], position.character, self._encoding)
        return self._starts[position.line] + index


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
