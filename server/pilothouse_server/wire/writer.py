"""The thread that writes the wire, so that a client that does not read cannot block the loop."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

__all__ = ["WireWriter"]


class WireWriter:
    """Writes in order. `unsent` bytes are held until the client takes them.

    The callbacks are called in the writer's thread: `on_drained` when all is written, `on_broken` once
    when the client has closed its end, `on_ended` last of all, when `finish` or a closed end is through.
    """

    def __init__(
        self,
        descriptor: int,
        *,
        on_drained: Callable[[], None],
        on_broken: Callable[[], None],
        on_ended: Callable[[], None] = lambda: None,
    ) -> None:
        self._descriptor = descriptor
        self._on_drained = on_drained
        self._on_broken = on_broken
        self._on_ended = on_ended
        self._changed = threading.Condition()
        self._chunks: list[bytes] = []
        self._unsent = 0
        self._broken = False
        self.error: OSError | None = None
        """Why it broke."""
        self._finished = False
        self._thread = threading.Thread(target=self._run, name="wire-writer", daemon=True)

    @property
    def unsent(self) -> int:
        return self._unsent

    def start(self) -> None:
        self._thread.start()

    def write(self, data: bytes) -> None:
        """Never blocks. Dropped once the client has closed its end, or after `finish`."""
        with self._changed:
            if self._broken or self._finished:
                return
            self._chunks.append(data)
            self._unsent += len(data)
            self._changed.notify()

    def finish(self) -> None:
        """Take no more; the thread ends when what is left is written. Never blocks."""
        with self._changed:
            self._finished = True
            self._changed.notify()

    def close(self, seconds: float) -> bool:
        """Finish and wait for it; whether all was written, or there is nobody to write for."""
        self.finish()
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while chunks := self._take():
            data = b"".join(chunks)
            try:
                self._write(data)
            except OSError as error:
                self.error = error
                self._break()
                break
            with self._changed:
                self._unsent -= len(data)
                drained = not self._chunks
            if drained:
                self._on_drained()
        self._on_ended()

    def _break(self) -> None:
        with self._changed:
            self._broken = True
            self._chunks.clear()
            self._unsent = 0
        self._on_broken()

    def _take(self) -> list[bytes]:
        """The next chunks; none means finished and written."""
        with self._changed:
            while not self._chunks and not self._finished:
                self._changed.wait()
            chunks, self._chunks = self._chunks, []
            return chunks

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._descriptor, view) :]
