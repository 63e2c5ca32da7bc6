"""Message updates as JSON: what all updates of one block have in common is put into words once."""

from __future__ import annotations

from typing import Any

from pilothouse_server.wire.codec import encode

__all__ = ["UpdateTemplate"]

_NUMBER_AND_TIME = b'"seq":0,"time":""'
_END = b'""}}'


class UpdateTemplate:
    def __init__(self, params: dict[str, Any]) -> None:
        """`params` of an update without its own part: seq 0, time and text empty, the text at the end."""
        whole = encode(params)
        # A quote inside a string is escaped, so nothing but the two fields can look like them.
        self._head, found, rest = whole.partition(_NUMBER_AND_TIME)
        assert found
        assert rest.endswith(_END)
        self._middle = rest.removesuffix(_END)

    def filled(self, seq: int, time: str, text: str) -> bytes:
        """The params of one update."""
        parts = (self._head, seq, time.encode(), self._middle, encode(text))
        return b'%b"seq":%d,"time":"%b"%b%b}}' % parts
