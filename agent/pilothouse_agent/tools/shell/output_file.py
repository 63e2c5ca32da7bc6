"""The whole output of a command in a file, for when its result shows only parts."""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path
from typing import BinaryIO

__all__ = ["MAX_FILE_BYTES", "OutputFile", "create_output_file"]

MAX_FILE_BYTES = 268_435_456

_BUFFER = 262_144


def create_output_file(folder: Path, prefix: str) -> tuple[BinaryIO, str]:
    """A new unbuffered file nobody else may read, and its path. Blocks; raises `OSError`."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, path = tempfile.mkstemp(dir=folder, prefix=prefix, suffix=".log")
    return os.fdopen(handle, "wb", buffering=0), path


class OutputFile:
    """Raw bytes as they came; on disk only once they are many, or when they are to be kept.

    A full or broken disk never fails the command: `problem` then says why there is no file.
    """

    def __init__(self, folder: Path, *, cap: int = MAX_FILE_BYTES) -> None:
        self._folder = folder
        self._cap = cap
        self._buffer: list[bytes] = []
        self._buffered = 0
        self._file: BinaryIO | None = None
        self._path: str | None = None
        self.total = 0
        """Bytes that came."""
        self.kept = 0
        """Bytes of them that the file gets."""
        self.problem: str | None = None

    @property
    def capped(self) -> bool:
        return self.kept < self.total

    @property
    def due(self) -> bool:
        """So much is buffered that `flush` must be awaited before more is added."""
        return self._buffered >= _BUFFER

    def add(self, chunk: bytes) -> None:
        self.total += len(chunk)
        room = self._cap - self.kept
        if room > 0 and self.problem is None:
            self._buffer.append(chunk[:room])
            self._buffered += len(self._buffer[-1])
            self.kept += len(self._buffer[-1])

    async def flush(self) -> None:
        chunks, self._buffer, self._buffered = self._buffer, [], 0
        try:
            await asyncio.to_thread(self._write, chunks)
        except OSError as error:
            self.problem = error.strerror or str(error)

    async def keep(self) -> str | None:
        """Complete the file and return its path; None when it could not be written."""
        await self.flush()
        self.close()
        return None if self.problem else self._path

    async def discard(self) -> None:
        self.close()
        if self._path is not None:
            await asyncio.to_thread(Path(self._path).unlink, missing_ok=True)

    def close(self) -> None:
        """Let go of the file without completing it."""
        if self._file is not None:
            self._file.close()

    def _write(self, chunks: list[bytes]) -> None:
        if self._file is None:
            self._file, self._path = create_output_file(self._folder, "output-")
        view = memoryview(b"".join(chunks))
        while view:
            view = view[self._file.write(view) :]
