"""Reading what the search program prints of its matches."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

__all__ = ["FoundLine", "MatchReader"]

_BEFORE = 800
_KEPT = 3_200
_SHOWN_BEFORE = 150
_SHOWN = 500
_HEADER = re.compile(rb"([^\0]*)\0(\d+)(?:-|:(\d+):)")
_REMARK = re.compile(
    rb"([^\0]*?): (?:WARNING: stopped searching binary file after match|binary file matches)"
    rb" \(found [^\0\n]* byte around offset \d+\)\n"
)
_CONTINUATION = bytes(range(0x80, 0xC0))


@dataclass(frozen=True, slots=True)
class FoundLine:
    """A matching line or, without column, one of the context of a match."""

    path: str
    """Absolute."""
    number: int
    """From 1."""
    column: int | None
    """Of the first match in it, in characters from 1."""
    text: str
    """All of it, or if `clipped` a part of it around the match."""
    clipped: bool


class MatchReader:
    """Takes the output apart as it comes; of a long line it keeps only what is around the match.

    Expects `path NUL number:column:text` for a match and `path NUL number-text` for context.
    """

    def __init__(
        self, keep: Callable[[str], bool], enough: int, *, copies: Mapping[str, str] | None = None
    ) -> None:
        """`keep` says which paths count; reading ends after `enough` matching lines and one more.

        `copies` are files searched in place of others, which matches are told of.
        """
        self._keep = keep
        self._copies = copies or {}
        self._enough = enough
        self._buffer = bytearray()
        self._line: _Window | None = None
        self._lines: list[FoundLine] = []
        self._binary: set[str] = set()
        self._matches = 0

    @property
    def full(self) -> bool:
        return self._matches > self._enough

    @property
    def binary(self) -> int:
        """How many binary files have a match."""
        return sum(map(self._keep, self._binary))

    def lines(self) -> list[FoundLine]:
        """In order of path and line; none of binary files."""
        found = [line for line in self._lines if line.path not in self._binary]
        return sorted(found, key=lambda line: (line.path.split(os.sep), line.number))

    def feed(self, chunk: bytes) -> bool:
        """False when it has enough."""
        self._buffer += chunk
        while not self.full and self._step():
            pass
        return not self.full

    def finish(self) -> None:
        """Take in what stands behind the last line."""
        self._take_remarks()

    def _step(self) -> bool:
        if self._line is None:
            return self._open_line()
        end = self._buffer.find(b"\n")
        self._line.add(self._buffer if end < 0 else self._buffer[:end])
        del self._buffer[: len(self._buffer) if end < 0 else end + 1]
        if end >= 0:
            self._close_line(self._line)
        return end >= 0

    def _open_line(self) -> bool:
        self._take_remarks()
        header = _HEADER.match(self._buffer)
        if header is None:
            return False
        column = int(header[3]) if header[3] else None
        self._line = _Window(os.fsdecode(bytes(header[1])), int(header[2]), column)
        del self._buffer[: header.end()]
        return True

    def _close_line(self, line: _Window) -> None:
        self._line = None
        if self._keep(line.path):
            line.path = self._copies.get(line.path, line.path)
            self._lines.append(line.found())
            self._matches += line.column is not None

    def _take_remarks(self) -> None:
        while remark := _REMARK.match(self._buffer):
            self._binary.add(os.fsdecode(bytes(remark[1])))
            del self._buffer[: remark.end()]


class _Window:
    """The part of one line around its match, cut out of the line while that streams by."""

    def __init__(self, path: str, number: int, column: int | None) -> None:
        """`column` is in bytes, from 1."""
        self.path = path
        self.number = number
        self.column = column
        self._start = max(0, (column or 1) - 1 - _BEFORE)
        self._kept = bytearray()
        self._seen = 0
        self._characters_before = 0

    def add(self, part: bytes | bytearray) -> None:
        skipped = min(max(0, self._start - self._seen), len(part))
        self._characters_before += len(part[:skipped].translate(None, _CONTINUATION))
        self._kept += part[skipped : skipped + _KEPT - len(self._kept)]
        self._seen += len(part)

    def found(self) -> FoundLine:
        whole = self._start == 0 and self._seen == len(self._kept)
        kept = self._kept.removesuffix(b"\r") if whole else self._kept
        before = self._text(kept[: (self.column or 1) - 1 - self._start])
        text = self._text(kept)
        column = None if self.column is None else self._characters_before + len(before) + 1
        if whole and len(text) <= _SHOWN:
            return FoundLine(self.path, self.number, column, text, clipped=False)
        start = max(0, len(before) - _SHOWN_BEFORE)
        return FoundLine(self.path, self.number, column, text[start : start + _SHOWN], clipped=True)

    def _text(self, data: bytearray) -> str:
        # A window may begin inside a character, which then counts as standing before it.
        cut = next((i for i, byte in enumerate(data[:4]) if byte & 0xC0 != 0x80), 0) if self._start else 0
        return data[cut:].decode("utf-8", "replace").replace("\0", "\u2400")
