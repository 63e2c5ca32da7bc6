"""LSP framing: header lines, a blank line, a body of Content-Length bytes."""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["FrameError", "FrameParser", "frame"]

BODY_LIMIT = 64 * 1024 * 1024
HEADER_LIMIT = 16 * 1024

_BLANKS = (b"\r\n", b"\n")
_ENDS = (b"\r\n\r\n", b"\n\n", b"\n\r\n")
_OVERLAP = max(map(len, _ENDS)) - 1


class FrameError(Exception):
    """The stream is broken and the next message cannot be found any more."""


def frame(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


class FrameParser:
    """Cuts a byte stream into bodies, wherever the pieces are cut.

    Header names match in any case, line ends may be LF alone, other headers, stray lines before a
    header and blank lines between messages are passed over.
    """

    def __init__(self, *, body_limit: int = BODY_LIMIT, header_limit: int = HEADER_LIMIT) -> None:
        self._body_limit = body_limit
        self._header_limit = header_limit
        self._buffer = bytearray()
        self._length: int | None = None
        """Of the body being collected; None while in a header."""
        self._scanned = 0
        """How far the header in the buffer has been searched for its end."""

    def push(self, data: bytes) -> None:
        self._buffer += data

    def bodies(self) -> Iterator[bytes]:
        """The bodies that are complete. Raises `FrameError` where the stream is broken, after them."""
        while True:
            if self._length is None:
                self._length = self._header()
            if self._length is None or len(self._buffer) < self._length:
                return
            body = self._take(self._length)
            self._length = None
            yield body

    def _header(self) -> int | None:
        """Take one header off the buffer, and the blank lines before it; None when it is not complete."""
        self._skip_blanks()
        end = self._header_end()
        if (len(self._buffer) if end is None else end) > self._header_limit:
            raise FrameError(f"The message header is longer than {self._header_limit} bytes.")
        if end is None:
            self._scanned = max(0, len(self._buffer) - _OVERLAP)
            return None
        self._scanned = 0
        return self._content_length(self._take(end))

    def _skip_blanks(self) -> None:
        start = 0
        while blank := next((blank for blank in _BLANKS if self._buffer.startswith(blank, start)), b""):
            start += len(blank)
        if start:
            del self._buffer[:start]
            self._scanned = 0

    def _header_end(self) -> int | None:
        found = [(self._buffer.find(mark, self._scanned), len(mark)) for mark in _ENDS]
        return min((start + length for start, length in found if start >= 0), default=None)

    def _take(self, length: int) -> bytes:
        with memoryview(self._buffer) as view:
            taken = bytes(view[:length])
        del self._buffer[:length]
        return taken

    def _content_length(self, header: bytes) -> int:
        for line in header.splitlines():
            name, _, value = line.partition(b":")
            if name.strip().lower() == b"content-length":
                return self._checked(value.strip())
        raise FrameError("A message header without Content-Length.")

    def _checked(self, value: bytes) -> int:
        if not value.isdigit():
            raise FrameError(f"Content-Length must be a number of bytes, not {value[:40]!r}.")
        length = int(value) if len(value) < 20 else self._body_limit + 1
        if length > self._body_limit:
            raise FrameError(f"A message of {value[:40].decode()} bytes; the limit is {self._body_limit}.")
        return length
