"""Text that is piped in."""

from __future__ import annotations

import math
import os
import select
import stat
import time

from pilothouse_server.wire.entry import complain

__all__ = ["StandardInput", "Unreadable"]

_MOST = 10 * 1024 * 1024
_FIRST = 1.0
"""Seconds in which a pipe has to say or end something to be listened to."""
_LONG = 3.0
"""Seconds after which a person is told what is being waited for."""
_PIECE = 1024 * 1024


class Unreadable(Exception):
    """What is there cannot be taken as text; the message says why."""


class StandardInput:
    def __init__(self, descriptor: int = 0) -> None:
        self._descriptor = descriptor

    def whole(self, limit: float | None = None) -> str:
        """All of it. Raises `Unreadable`, and TimeoutError when it has not ended after `limit` seconds."""
        return self._read(limit)

    def piped(self, limit: float | None = None) -> str | None:
        """All of a file, or of a pipe that has begun or ended within a second; None where nothing is given.

        Raises as `whole` does. A terminal, a device or a closed input gives nothing, and needs no word.
        """
        try:
            mode = os.fstat(self._descriptor).st_mode
        except OSError:
            return None
        if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
            return None
        if not stat.S_ISREG(mode) and not self._ready(_FIRST):
            complain(
                "pilothouse: standard input was not read, since nothing came within a second; "
                "with -m TEXT - it is waited for"
            )
            return None
        return self._read(limit)

    def _read(self, limit: float | None) -> str:
        begun = time.monotonic()
        over = math.inf if limit is None else begun + limit
        tell = begun + _LONG
        data = bytearray()
        while True:
            if not self._ready(min(tell, over) - time.monotonic()):
                if tell >= over:
                    raise TimeoutError
                complain("pilothouse: reading standard input to its end; Ctrl-C stops")
                tell = math.inf
                continue
            piece = self._piece()
            if not piece:
                return _text(bytes(data))
            data += piece
            if len(data) > _MOST:
                raise Unreadable(f"standard input is more than {_MOST // 1024 // 1024} MB; give a part of it")

    def _piece(self) -> bytes:
        try:
            return os.read(self._descriptor, _PIECE)
        except OSError as error:
            raise Unreadable(f"standard input cannot be read: {error.strerror}") from None

    def _ready(self, seconds: float) -> bool:
        """Whether there is something, or its end, within so many seconds."""
        patience = None if seconds == math.inf else max(0.0, seconds)
        return bool(select.select([self._descriptor], [], [], patience)[0])


def _text(data: bytes) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Unreadable(f"standard input is not UTF-8 text: {error.reason} at byte {error.start}") from None
    if "\0" in text:
        raise Unreadable("standard input is not text: there is a zero byte in it")
    return text
