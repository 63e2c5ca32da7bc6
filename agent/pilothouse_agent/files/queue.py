"""The order in which files are written: one queue a file and process (kernel.md F1)."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple, TypeAlias

from pilothouse_agent.files.disk_threads import LOOK_LIMIT, in_thread
from pilothouse_agent.files.file_key import FOLDS_CASE, file_key
from pilothouse_agent.files.in_flight import retrieve
from pilothouse_agent.files.spelling import line_key
from pilothouse_agent.kernel.abort import AbortSignal, bounded
from pilothouse_agent.kernel.tooling import ToolError

__all__ = ["WriteQueue"]

_Place: TypeAlias = "dict[str, asyncio.Future[None]]"
"""What one request waits for, by the key of the line it stands in."""

_DOOR = ""
_SIDE_DOOR = "slow"
"""For paths that the file system takes its time with. Keys of files are absolute."""
_PATIENCE = 0.5


class _Resolved(NamedTuple):
    paths: tuple[str, ...]
    keys: tuple[str, ...]
    """Of the lines to stand in; sorted."""


class WriteQueue:
    """Share one among all sessions of a process. Empty when nothing is written."""

    def __init__(self, *, fold_case: bool = FOLDS_CASE, patience: float = _PATIENCE) -> None:
        """`fold_case`: names that differ only in case or in composed letters are one file everywhere, not
        only where the disk says so. `patience`: seconds that others wait for one whose paths are looked up.
        """
        self._fold_case = fold_case
        self._patience = patience
        self._lines: dict[str, deque[asyncio.Future[None]]] = {}

    def __len__(self) -> int:
        """Files with a queued or running write."""
        return len(self._lines.keys() - {_DOOR, _SIDE_DOOR})

    @asynccontextmanager
    async def turn(
        self, resolve: Callable[[], Sequence[str]], *, signal: AbortSignal
    ) -> AsyncGenerator[tuple[str, ...]]:
        """Wait for the turn on all files that `resolve` names, and hold it. Raises `Aborted` in waiting.

        `resolve` gives real paths and may look at the disk: it runs in a thread. Turns come in the order
        of entering: one request at a time goes through the door, where the lines of all its files are
        joined in one step, so that nobody overtakes or waits in a circle. One whose paths are not found
        soon lets the others pass, and keeps its order only among those like it.
        """
        resolving = asyncio.ensure_future(in_thread(self._resolved, resolve))
        resolving.add_done_callback(retrieve)
        try:
            place, paths = await self._through_the_door(resolving, signal)
        finally:
            resolving.cancel()
        try:
            await _reached(place, signal)
            yield paths
        finally:
            self._leave(place)

    async def _through_the_door(
        self, resolving: asyncio.Future[_Resolved], signal: AbortSignal
    ) -> tuple[_Place, tuple[str, ...]]:
        since = asyncio.get_running_loop().time()
        door = self._join([_DOOR])
        try:
            await _reached(door, signal)
            if not await _is_found(resolving, signal, until=since + self._patience):
                self._leave(door)
                door = self._join([_SIDE_DOOR])
                await _reached(door, signal)
                if not await _is_found(resolving, signal, until=since + LOOK_LIMIT):
                    raise ToolError(
                        f"The file system did not answer within {LOOK_LIMIT:.0f} s. Nothing was changed; try "
                        "again."
                    )
            found = resolving.result()
            return self._join(found.keys), found.paths
        finally:
            self._leave(door)

    def _resolved(self, resolve: Callable[[], Sequence[str]]) -> _Resolved:
        paths = tuple(resolve())
        keys = {file_key(line_key(path), fold_case=self._fold_case) for path in paths}
        return _Resolved(paths, tuple(sorted(keys)))

    def _join(self, keys: Iterable[str]) -> _Place:
        place: _Place = {}
        for key in keys:
            line = self._lines.setdefault(key, deque())
            place[key] = asyncio.get_running_loop().create_future()
            line.append(place[key])
            self._call_first(key)
        return place

    def _leave(self, place: _Place) -> None:
        for key, ticket in place.items():
            self._lines[key].remove(ticket)
            self._call_first(key)

    def _call_first(self, key: str) -> None:
        line = self._lines[key]
        if not line:
            del self._lines[key]
        elif not line[0].done():
            line[0].set_result(None)


async def _reached(place: _Place, signal: AbortSignal) -> None:
    for ticket in place.values():
        if not ticket.done():
            await bounded(ticket, signal=signal, limit=None)
    signal.raise_if_aborted()


async def _is_found(resolving: asyncio.Future[_Resolved], signal: AbortSignal, *, until: float) -> bool:
    left = until - asyncio.get_running_loop().time()
    try:
        await bounded(asyncio.shield(resolving), signal=signal, limit=max(left, 0))
    except TimeoutError:
        return resolving.done()
    return True
