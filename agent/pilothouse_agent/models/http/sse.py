"""Server-sent events from pieces of a body, whatever their borders."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["BARE", "SseEvent", "SseReader"]

BARE = "{}"
"""The name of an event that is a line of JSON without any field, as proxies let one through."""
_BOM = b"\xef\xbb\xbf"


class SseEvent(NamedTuple):
    name: str
    """Empty when the stream gave none."""
    data: bytes
    """The data lines joined with LF; never empty."""


class SseReader:
    """Works on bytes, so characters may be cut anywhere; only LF, CRLF and CR end a line.

    Looser than the standard: an event that the end of the body leaves open is handed out by `finish`,
    because providers forget the last blank line; so are, at once, a field `error` and a bare line of JSON.
    """

    def __init__(self) -> None:
        self._line: list[bytes] = []
        self._data: list[bytes] = []
        self._name = ""
        self._after_cr = False
        self._at_start = True

    def feed(self, piece: bytes) -> list[SseEvent]:
        if self._after_cr:
            self._after_cr = not piece
            piece = piece.removeprefix(b"\n")
        if b"\n" not in piece and b"\r" not in piece:
            if piece:
                self._line.append(piece)
            return []
        text = self._joined(piece)
        lines = text.splitlines()
        if text[-1] == 13:
            self._after_cr = True
        elif text[-1] != 10:
            self._line.append(lines.pop())
        return self._events(lines)

    def finish(self) -> list[SseEvent]:
        """The event that the end of the body has left open, if there is one."""
        text = self._joined(b"")
        return self._events([text, b""] if text else [b""])

    def _joined(self, piece: bytes) -> bytes:
        if self._line:
            self._line.append(piece)
            piece = b"".join(self._line)
            self._line.clear()
        if self._at_start:
            self._at_start = False
            piece = piece.removeprefix(_BOM)
        return piece

    def _events(self, lines: list[bytes]) -> list[SseEvent]:
        events: list[SseEvent] = []
        data = self._data
        for line in lines:
            if line[:6] == b"data: ":
                data.append(line[6:])
            elif line[:7] == b"event: ":
                self._name = line[7:].decode("utf-8", "replace")
            elif line:
                self._field(line, events)
            elif data:
                whole = data[0] if len(data) == 1 else b"\n".join(data)
                if whole:
                    events.append(SseEvent(self._name, whole))
                data.clear()
                self._name = ""
            else:
                self._name = ""
        return events

    def _field(self, line: bytes, events: list[SseEvent]) -> None:
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(value)
        elif field == b"event":
            self._name = value.decode("utf-8", "replace")
        elif field == b"error" and value:
            events += [*self._events([b""]), SseEvent("error", value)]
        elif line[:1] == b"{" and line.rstrip()[-1:] == b"}":
            events += [*self._events([b""]), SseEvent(BARE, line)]
