"""A text that is changed in place, at the cost of the lines a change touches."""

from __future__ import annotations

from pilothouse_server.client.positions import Encoding, Position, content_of, index_in, lsp_lines, units

__all__ = ["LineText", "OutsideText"]


class OutsideText(Exception):
    """A position that the text does not have, so that it is not the text the client means."""


class LineText:
    def __init__(self, text: str) -> None:
        self._lines = lsp_lines(text)
        self._text: str | None = text

    @property
    def text(self) -> str:
        if self._text is None:
            self._text = self.joined()
        return self._text

    def joined(self) -> str:
        """The text, from any thread: keeps nothing that the next change would have to take back."""
        return "".join(self._lines)

    def lines(self, first: int, last: int) -> list[str]:
        """Those of these numbers, from 0, with their ends; what lies behind the last line is left out."""
        return self._lines[first : last + 1]

    def replace(self, start: Position, end: Position, new: str, encoding: Encoding) -> None:
        """Raises `OutsideText` and changes nothing, where clamping as LSP says does not help."""
        lines = self._lines
        first, left = self._place(start, encoding)
        last, right = self._place(end, encoding)
        if (last, right) < (first, left):
            raise OutsideText(f"a range that ends before it starts, in line {first + 1}")
        middle = lines[first][:left] + new + lines[last][right:]
        if first and middle.startswith("\n") and lines[first - 1].endswith("\r"):
            first -= 1
            middle = lines[first] + middle
        pieces = lsp_lines(middle)
        if last + 1 < len(lines):
            # The last touched line kept its end, so the last piece is the empty one behind it.
            pieces.pop()
        lines[first : last + 1] = pieces
        self._text = None

    def _place(self, position: Position, encoding: Encoding) -> tuple[int, int]:
        """The line and the index in it. The line behind the last one, as some clients count, is the end."""
        count = len(self._lines)
        if position == Position(count, 0):
            return count - 1, len(self._lines[-1])
        if position.line >= count:
            raise OutsideText(f"line {position.line + 1} of a text with {count}")
        line = self._lines[position.line]
        index = index_in(line, position.character, encoding)
        content = content_of(line)
        if index < len(content) and units(content[:index], encoding) != position.character:
            raise OutsideText(f"a position inside a character, in line {position.line + 1}")
        return position.line, index
