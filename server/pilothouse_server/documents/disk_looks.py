"""Looks at the disk for documents, which a file system that never answers cannot make many of."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection
from functools import partial
from typing import Any, TypeVar

from pilothouse_agent.files.disk_threads import DiskThreads
from pilothouse_agent.files.spelling import real_path
from pilothouse_server.documents.disk_look import LOOK_LIMIT, DiskLook, look_at

__all__ = ["DiskLooks"]

logger = logging.getLogger(__name__)

T = TypeVar("T")

_THREADS = 16
_SOON = 1.0
"""Seconds after which a look counts as one that does not come back."""


class DiskLooks:
    """In a few threads of its own. A path whose look does not come back is not looked at again before."""

    def __init__(self, look: Callable[[str], DiskLook] = look_at, *, limit: float = LOOK_LIMIT) -> None:
        """`look` runs in a thread; `limit` is what an answer is waited for, in seconds."""
        self._look = look
        self._limit = limit
        self._threads = DiskThreads(_THREADS)
        self._out: dict[str, tuple[asyncio.Future[Any], float]] = {}
        """The looks that are out, and when they were begun."""

    async def at(self, path: str, *, patient: bool = False, encoding: str | None = None) -> DiskLook | None:
        """What is there now, read as `encoding` where that is told; None when an earlier look does not come
        back, when too many do not and, but to the `patient`, when this one does not come in time."""
        if path in self._out and (self._overdue(path) or not await self._in_time(self._out[path][0])):
            return None
        work = partial(self._look, path) if encoding is None else partial(look_at, path, encoding)
        look = self._begin([path], work)
        if look is None or not (patient or await self._in_time(look)):
            return None
        return await look

    async def places(self, paths: Collection[str]) -> dict[str, str]:
        """Where the paths really lead, of those that are answered for in time."""
        found: dict[str, str] = {}
        # Those that are being looked at come last, lest one that hangs keep the others from their turn.
        due = {path for path in paths if not self._overdue(path)}
        asked = sorted(due, key=lambda path: path in self._out)
        look = self._begin(asked, partial(_look_up, asked, found))
        if look is not None and not await self._in_time(look):
            self._back(list(found), look)
        return dict(found)

    def _overdue(self, path: str) -> bool:
        return path in self._out and asyncio.get_running_loop().time() - self._out[path][1] > _SOON

    def _begin(self, paths: list[str], work: Callable[[], T]) -> asyncio.Future[T] | None:
        if self._threads.full:
            return None
        look = asyncio.wrap_future(self._threads.submit(work))
        entry = (look, asyncio.get_running_loop().time())
        self._out = {**dict.fromkeys(paths, entry), **self._out}
        look.add_done_callback(partial(self._back, paths))
        return look

    def _back(self, paths: Collection[str], look: asyncio.Future[Any]) -> None:
        for path in paths:
            if path in self._out and self._out[path][0] is look:
                del self._out[path]

    async def _in_time(self, look: asyncio.Future[T]) -> bool:
        await asyncio.wait({look}, timeout=self._limit)
        if not look.done():
            logger.warning("The file system did not answer within %s s", self._limit)
        return look.done()


def _look_up(paths: list[str], found: dict[str, str]) -> None:
    for path in paths:
        try:
            found[path] = real_path(path)
        except (OSError, ValueError):
            found[path] = path
