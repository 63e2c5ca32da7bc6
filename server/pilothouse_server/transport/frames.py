"""LSP framing: header lines, a blank line, a body of Content-Length bytes."""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["FrameError", "FrameParser", "frame"]

BODY_LIMIT = 64 * 1024 * 1024
HEADER_LIMIT = 16 * 1024


class FrameError(Exception):
    """The stream is broken and the next message cannot be found any more."""


def frame(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


class FrameParser:
    """Cuts a byte stream into bodies, wherever the pieces are cut.

    Header names match in any case, line ends may be LF alone, other headers and stray lines before
    a header are passed over.
    """

    def __init__(self, *, body_limit: int = BODY_LIMIT, header_limit: int = HEADER_LIMIT) -> None:
        self._body_limit = body_limit
        self._header_limit = header_limit
        self._buffer = bytearray()
        self._length: int | None = None
        """Of the body being collected; None while in a header."""
        self._scanned = 0
        """How far the header in the buffer has been searched for line ends."""

    def push(self, data: bytes) -> None:
        self._buffer += data

    def bodies(self) -> Iterator[bytes]:
        """The bodies that are complete. Raises `FrameError` where the stream is broken, after them."""
        while True:
            if self._length is None and not self._read_header():
                return
            assert self._length is not None
            if len(self._buffer) < self._length:
                return
            body = bytes(self._buffer[: self._length])
            del self._buffer[: self._length]
            self._length = None
            yield body

    def _read_header(self) -> bool:
        """Take one header block off the buffer; False when it is not complete yet."""
        end = _block_end(self._buffer, self._scanned)
        if end is None:
            self._scanned = max(0, len(self._buffer) - 3)
            if len(self._buffer) > self._header_limit:
                raise FrameError(f"The message header is longer than {self._header_limit} bytes.")
            return False
        block = bytes(self._buffer[:end])
        del self._buffer[:end]
        self._scanned = 0
        if not block.strip():
            return self._read_header()
        self._length = self._content_length(block)
        return True

    def _content_length(self, block: bytes) -> int:
        for line in block.splitlines():
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


def _block_end(buffer: bytearray, start: int) -> int | None:
    """Where the first header block ends: behind CR LF CR LF or LF LF, or a leading blank line."""
    for blank in (b"\r\n", b"\n"):
        if buffer.startswith(blank):
            return len(blank)
    ends = [
        found + len(mark)
        for mark in (b"\r\n\r\n", b"\n\n", b"\n\r\n")
        if (found := buffer.find(mark, start)) >= 0
    ]
    return min(ends, default=None)
