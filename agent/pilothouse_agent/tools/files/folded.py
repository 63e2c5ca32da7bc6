"""A text without the differences a match may forgive, and the way back to the text itself."""

from __future__ import annotations

from bisect import bisect_right

from pilothouse_agent.files.lines import split_lines

__all__ = ["FoldedText"]

_BLANKS = "\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
_SINGLE = "\u2018\u2019\u201a\u201b\u2032"
_DOUBLE = "\u201c\u201d\u201e\u201f\u2033"
_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"
_TYPOGRAPHIC = str.maketrans(
    dict.fromkeys(_BLANKS, " ")
    | dict.fromkeys(_SINGLE, "'")
    | dict.fromkeys(_DOUBLE, '"')
    | dict.fromkeys(_DASHES, "-")
)


def _plain(content: str) -> str:
    return (content if content.isascii() else content.translate(_TYPOGRAPHIC)).rstrip(" \t")


class FoldedText:
    """Line ends are LF; with `loose`, blanks at line ends are gone and typographic characters plain.

    Every line keeps its place, and every character of it its column. Indices from 0.
    """

    def __init__(self, text: str, *, loose: bool) -> None:
        self.text = ""
        self._starts: list[int] = []
        """Of each line, in the folded text."""
        self._origins: list[int] = []
        """Of each line, in the text."""
        self._widths: list[int] = []
        """Of each line, folded, without its end."""
        self._ends: list[int] = []
        """Where each line's end stands in the text."""
        self._fold(text, loose=loose)

    @property
    def lost_blanks_at_end(self) -> bool:
        """The last line had blanks behind it that are gone."""
        return self._origins[-1] + self._widths[-1] < self._ends[-1]

    def folded(self, index: int) -> int:
        """From an index in the text."""
        line = bisect_right(self._origins, index) - 1
        return self._starts[line] + min(index - self._origins[line], self._widths[line])

    def tight(self, index: int) -> int:
        """Back to the text: right behind the character in front, before blanks at the line's end."""
        line = bisect_right(self._starts, index) - 1
        return self._origins[line] + index - self._starts[line]

    def wide(self, index: int) -> int:
        """Back to the text: in front of what follows, behind blanks at the line's end."""
        line = bisect_right(self._starts, index) - 1
        column = index - self._starts[line]
        return self._ends[line] if column == self._widths[line] else self._origins[line] + column

    def _fold(self, text: str, *, loose: bool) -> None:
        pieces: list[str] = []
        origin = start = 0
        lines = split_lines(text)
        if not lines or lines[-1].endswith("\n"):
            lines.append("")
        for line in lines:
            content = line.removesuffix("\n")
            content = content.removesuffix("\r") if content != line else content
            kept = _plain(content) if loose else content
            self._starts.append(start)
            self._origins.append(origin)
            self._widths.append(len(kept))
            self._ends.append(origin + len(content))
            pieces.append(kept)
            origin += len(line)
            start += len(kept) + 1
        self.text = "\n".join(pieces)
