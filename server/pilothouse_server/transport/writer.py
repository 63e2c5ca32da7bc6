"""The thread that writes the wire, so that a client that does not read cannot block the loop."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

__all__ = ["WireWriter"]


class WireWriter:
    """Writes in order. `unsent` bytes are held until the client takes them.

    `on_drained` and `on_broken` are called in the writer's thread: when all is written, and once
    when the client has closed its end.
    """

    def __init__(
        self, descriptor: int, *, on_drained: Callable[[], None], on_broken: Callable[[], None]
    ) -> None:
        self._descriptor = descriptor
        self._on_drained = on_drained
        self._on_broken = on_broken
        self._changed = threading.Condition()
        self._chunks: list[bytes] = []
        self._unsent = 0
        self._broken = False
        self._closed = False
        self._thread = threading.Thread(target=self._write_all, name="wire-writer", daemon=True)

    @property
    def unsent(self) -> int:
        return self._unsent

    def start(self) -> None:
        self._thread.start()

    def write(self, data: bytes) -> None:
        """Never blocks. Dropped once the client has closed its end."""
        with self._changed:
            if self._broken or self._closed:
                return
            self._chunks.append(data)
            self._unsent += len(data)
            self._changed.notify()

    def close(self, seconds: float) -> bool:
        """Take no more and wait for what is left; whether all of it was written."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _write_all(self) -> None:
        while chunks := self._take():
            data = b"".join(chunks)
            try:
                self._write(data)
            except OSError:
                with self._changed:
                    self._broken = True
                    self._chunks.clear()
                    self._unsent = 0
                self._on_broken()
                return
            with self._changed:
                self._unsent -= len(data)
                drained = not self._chunks
            if drained:
                self._on_drained()

    def _take(self) -> list[bytes]:
        """The next chunks; none means closed and written."""
        with self._changed:
            while not self._chunks and not self._closed:
                self._changed.wait()
            chunks, self._chunks = self._chunks, []
            return chunks

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._descriptor, view) :]
