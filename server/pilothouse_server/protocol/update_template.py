"""Message updates as JSON: what all updates of one block have in common is put into words once."""

from __future__ import annotations

from typing import Any

from pilothouse_server.wire.codec import encode

__all__ = ["UpdateTemplate"]

_NUMBER_AND_TIME = b'"seq":0,"time":""'
_TEXT = b'"text":""'


class UpdateTemplate:
    def __init__(self, params: dict[str, Any]) -> None:
        """`params` of an update without its own part: seq 0, time and text empty."""
        # A quote inside a string is escaped, so nothing but the three fields can look like them.
        self._head, number, rest = encode(params).partition(_NUMBER_AND_TIME)
        self._middle, text, self._end = rest.partition(_TEXT)
        assert number
        assert text

    def filled(self, seq: int, time: str, text: str) -> bytes:
        """The params of one update."""
        parts = (self._head, seq, time.encode(), self._middle, encode(text), self._end)
        return b'%b"seq":%d,"time":"%b"%b"text":%b%b' % parts
