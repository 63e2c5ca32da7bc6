"""Changes of files that are not open, worked out on what is on disk and made by an editor."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from pilothouse_agent.files.closed_files import ClosedFiles, Intended
from pilothouse_agent.files.disk import Overtaken
from pilothouse_agent.files.disk_texts import Check, DiskTexts, Rewriting
from pilothouse_agent.files.disk_threads import in_thread
from pilothouse_agent.files.lines import line_end_of
from pilothouse_agent.files.recorder import Remains
from pilothouse_agent.files.same_text import same_but_last_end
from pilothouse_agent.kernel.events import FileChangeKind
from pilothouse_agent.kernel.ports import FileChange, TextChange, WriteScope
from pilothouse_agent.kernel.tooling import ToolError

__all__ = ["Made", "ThroughEditor"]


class Made(NamedTuple):
    change: FileChange
    remains: Remains | None = None
    """Of a deleted file."""


class ThroughEditor:
    """All give None for what is to be done on disk, and raise `Overtaken` for what is to be begun anew.

    On disk stays whatever an editor might not save as it was: other encodings than plain UTF-8, mixed
    line ends, links, what is not text, files that are read-only, and folders that are to be made.
    """

    def __init__(
        self, closed: ClosedFiles, texts: DiskTexts, *, doubt: Callable[[str], None], limit: float
    ) -> None:
        """`doubt` is told the real path of a file whose state nobody knows; `limit` is in seconds."""
        self._closed = closed
        self._texts = texts
        self._doubt = doubt
        self._limit = limit

    async def rewrite(self, path: str, change: TextChange, scope: WriteScope, *, create: bool) -> Made | None:
        work = partial(self._rewriting, path, change, create=create)
        return await self._made("modify", work, scope)

    async def move(self, path: str, new_path: str, scope: WriteScope) -> Made | None:
        return await self._made("rename", partial(self._moving, path, new_path), scope)

    async def delete(self, path: str, scope: WriteScope, check: Check) -> Made | None:
        return await self._made("delete", partial(self._deleting, path, check), scope)

    async def _made(
        self, kind: FileChangeKind, work: Callable[[], _Plan | None], scope: WriteScope
    ) -> Made | None:
        if not self._closed.takes(kind):
            return None
        plan = await self._worked_out(work)
        if plan is None or not self._closed.takes(plan.intended.change.kind):
            return None
        done = await self._closed.make(plan.intended, scope)
        if done is None:
            raise Overtaken
        return Made(done, plan.remains)

    async def _worked_out(self, work: Callable[[], _Plan | None]) -> _Plan | None:
        try:
            async with asyncio.timeout(self._limit):
                return await in_thread(work)
        except TimeoutError:
            text = f"The file system did not answer within {self._limit:g} s. Nothing was changed."
            raise ToolError(text) from None

    def _rewriting(self, path: str, change: TextChange, *, create: bool) -> _Plan | None:
        rewriting = self._texts.plan(path, change, create=create)
        if not _survives(path, rewriting):
            return None
        before, status = rewriting.before, rewriting.loaded and rewriting.loaded.status
        kind, old_text = ("modify", before.text) if before else ("create", None)
        done = FileChange(path, kind, "editor", old_text, rewriting.after.text)
        return self._plan(done, lambda: self._texts.is_still(path, status))

    def _moving(self, path: str, new_path: str) -> _Plan | None:
        status, text = self._texts.look_before_move(path, new_path)
        if text is None or not _is_free(new_path):
            return None
        done = FileChange(new_path, "rename", "editor", None, text, source=path)
        return self._plan(
            done, lambda: self._texts.is_still(path, status) and self._texts.is_still(new_path, None)
        )

    def _deleting(self, path: str, check: Check) -> _Plan | None:
        status, text, remains = self._texts.look_before_delete(path, check)
        if text is None or remains is None:
            return None
        done = FileChange(path, "delete", "editor", text, None)
        return self._plan(done, lambda: self._texts.is_still(path, status), remains)

    def _plan(self, change: FileChange, still: Callable[[], bool], remains: Remains | None = None) -> _Plan:
        def doubt() -> None:
            for path in (change.source, change.path):
                if path is not None:
                    self._doubt(path)

        return _Plan(Intended(change, still, doubt), remains)


class _Plan(NamedTuple):
    intended: Intended
    remains: Remains | None


def _survives(path: str, rewriting: Rewriting) -> bool:
    """Whether any editor would show the change and save just that."""
    before, after = rewriting.before, rewriting.after
    data = (rewriting.data, rewriting.loaded.data if rewriting.loaded else b"")
    if (after.encoding, after.bom) != ("utf-8", b"") or not all(map(_is_utf_8, data)):
        return False
    old_text = before.text if before else ""
    if same_but_last_end(old_text, after.text):
        # An end of the last line is the editor's own affair; a new empty file has nothing to be lost.
        return before is None and not after.text and _is_free(path)
    if not _same_line_ends(old_text, after.text):
        return False
    return os.access(path, os.W_OK) if before else _is_free(path)


def _is_utf_8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _same_line_ends(before: str, after: str) -> bool:
    """Whether the text keeps one kind of line end: LF, or CR LF if it had that before."""
    kinds = {line_end_of(text) for text in (before, after) if "\n" in text}
    if any("\r" in text.replace("\r\n", "") for text in (before, after)):
        return False
    return kinds <= {"\n"} or (kinds == {"\r\n"} and "\n" in before)


def _is_free(path: str) -> bool:
    """Whether a file can be made there without a folder."""
    return not os.path.lexists(path) and os.path.isdir(os.path.dirname(path))
