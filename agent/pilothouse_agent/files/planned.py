"""The files as the calls of a batch that were approved so far will leave them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

from pilothouse_agent.files.codec import encode
from pilothouse_agent.kernel.ports import FileText

__all__ = ["PlannedTexts"]


class PlannedTexts:
    """An overlay over the files: what was put wins, the rest is read anew each time."""

    def __init__(self, find: Callable[[str], FileText | None]) -> None:
        """`find` reads the file at a real path, None when there is none; it runs in a thread."""
        self._find = find
        self._put: dict[str, FileText | None] = {}
        self._met: dict[str, FileText] = {}
        self.uncertain = False

    def mark_uncertain(self) -> None:
        self.uncertain = True

    async def text(self, path: str) -> FileText | None:
        real = await asyncio.to_thread(os.path.realpath, path)
        if real in self._put:
            return self._put[real]
        file = await asyncio.to_thread(self._find, real)
        if file:
            self._met[real] = file
        return file

    def put(self, path: str, text: str | None) -> None:
        """`path` is real. Raises `ToolError` when the file's encoding does not have the characters."""
        if text is None:
            self._put[path] = None
        else:
            self._put[path] = encode(text, self._put.get(path) or self._met.get(path), path)[0]
