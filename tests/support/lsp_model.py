"""What LSP says of positions and edits, written down a second time and as plainly as can be.

A text is its code units in the negotiated encoding; lines are found by looking at each of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from pilothouse_server.client.positions import Encoding, Position

__all__ = ["apply", "line_count", "offset_of", "position_of"]

_CODECS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}


def apply(text: str, edits: Sequence[tuple[Position, Position, str]], encoding: Encoding) -> str:
    """All edits are about `text`; they are in order and apart."""
    codec, size = _CODECS[encoding]
    data, done = b"", 0
    whole = text.encode(codec)
    for start, end, new in edits:
        first, last = offset_of(text, start, encoding) * size, offset_of(text, end, encoding) * size
        assert done <= first <= last, "edits overlap or are out of order"
        data += whole[done:first] + new.encode(codec)
        done = last
    return (data + whole[done:]).decode(codec)


def offset_of(text: str, position: Position, encoding: Encoding) -> int:
    """In units; clamped."""
    starts = _starts(text, encoding)
    if position.line >= len(starts):
        return starts[-1][1]
    start, end = starts[position.line]
    return min(start + position.character, end)


def position_of(text: str, index: int, encoding: Encoding) -> Position:
    """Of the character at `index`, which is not the LF of a CR LF."""
    codec, size = _CODECS[encoding]
    offset = len(text[:index].encode(codec)) // size
    starts = _starts(text, encoding)
    line = max(number for number, (start, _) in enumerate(starts) if start <= offset)
    return Position(line, offset - starts[line][0])


def line_count(text: str) -> int:
    return len(_starts(text, "utf-32"))


def _starts(text: str, encoding: Encoding) -> list[tuple[int, int]]:
    """For each line its start and the end of its content, in units."""
    codec, size = _CODECS[encoding]
    data = text.encode(codec)
    found = [data[i : i + size] for i in range(0, len(data), size)]
    carriage_return, line_feed = "\r".encode(codec), "\n".encode(codec)
    lines: list[tuple[int, int]] = []
    start = place = 0
    while place < len(found):
        if found[place] in (carriage_return, line_feed):
            lines.append((start, place))
            place += 1 + (found[place : place + 2] == [carriage_return, line_feed])
            start = place
        else:
            place += 1
    return [*lines, (start, place)]
