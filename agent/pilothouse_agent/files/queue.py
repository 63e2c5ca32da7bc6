"""The order in which files are written: one queue a file and process (kernel.md F1)."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import TypeAlias

from pilothouse_agent.files.file_key import FOLDS_CASE, file_key
from pilothouse_agent.kernel.abort import AbortSignal, bounded
from pilothouse_agent.kernel.tooling import ToolError

__all__ = ["WriteQueue"]

_Place: TypeAlias = "dict[str, asyncio.Future[None]]"
"""What one request waits for, by the key of the line it stands in."""

_DOOR = ""
_RESOLVE_LIMIT = 5.0


class WriteQueue:
    """Share one among all sessions of a process. Empty when nothing is written."""

    def __init__(self, *, fold_case: bool = FOLDS_CASE) -> None:
        """`fold_case`: names that differ only in case or in composed letters are one file."""
        self._fold_case = fold_case
        self._lines: dict[str, deque[asyncio.Future[None]]] = {}

    def __len__(self) -> int:
        """Files with a queued or running write."""
        return len(self._lines.keys() - {_DOOR})

    @asynccontextmanager
    async def turn(
        self, resolve: Callable[[], Sequence[str]], *, signal: AbortSignal
    ) -> AsyncGenerator[tuple[str, ...]]:
        """Wait for the turn on all files that `resolve` names, and hold it. Raises `Aborted` in waiting.

        `resolve` gives real paths and may look at the disk: it runs in a thread. Turns come in the order
        of entering: one request at a time goes through the door, where its paths are resolved and the
        lines of all its files are joined in one step, so that nobody overtakes or waits in a circle.
        """
        door = self._join([_DOOR])
        try:
            await _reached(door, signal)
            paths = await _resolved(resolve, signal)
            place = self._join(sorted({self._key(path) for path in paths}))
        finally:
            self._leave(door)
        try:
            await _reached(place, signal)
            yield paths
        finally:
            self._leave(place)

    def _key(self, path: str) -> str:
        return file_key(path, fold_case=self._fold_case)

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


async def _resolved(resolve: Callable[[], Sequence[str]], signal: AbortSignal) -> tuple[str, ...]:
    try:
        return tuple(await bounded(asyncio.to_thread(resolve), signal=signal, limit=_RESOLVE_LIMIT))
    except TimeoutError:
        raise ToolError(
            f"The file system did not answer within {_RESOLVE_LIMIT:.0f} s. Nothing was changed; try again."
        ) from None
