"""The files as the calls of a batch that were approved so far will leave them."""

from __future__ import annotations

from collections.abc import Callable

from pilothouse_agent.files.codec import encode
from pilothouse_agent.files.declared import Declared
from pilothouse_agent.files.disk_threads import in_thread
from pilothouse_agent.files.spelling import real_path
from pilothouse_agent.kernel.ports import FileText

__all__ = ["PlannedTexts"]


class PlannedTexts:
    """An overlay over the files: what was put wins, the rest is read anew each time."""

    def __init__(
        self,
        find: Callable[[str], FileText | None],
        declared: Callable[[str], Declared | None] = lambda path: None,
    ) -> None:
        """`find` reads the file at a real path, None when there is none; `declared` tells what is said of
        its encoding. Both run in a thread."""
        self._find = find
        self._declared = declared
        self._put: dict[str, FileText | None] = {}
        self._met: dict[str, FileText] = {}
        self._said: dict[str, Declared | None] = {}
        self.uncertain = False

    def mark_uncertain(self) -> None:
        self.uncertain = True

    async def text(self, path: str) -> FileText | None:
        return await in_thread(self._text, path)

    def _text(self, path: str) -> FileText | None:
        real = real_path(path)
        if real in self._put:
            return self._put[real]
        self._said[real] = self._declared(real)
        file = self._find(real)
        if file:
            self._met[real] = file
        return file

    def put(self, path: str, text: str | None) -> None:
        """`path` is real. Raises `ToolError` when the file's encoding does not have the characters."""
        if text is None:
            self._put[path] = None
        else:
            like = self._put.get(path) or self._met.get(path)
            self._put[path] = encode(text, like, path, declared=self._said.get(path))[0]
