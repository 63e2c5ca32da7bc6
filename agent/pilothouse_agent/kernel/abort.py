"""The signal that a run is to stop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

__all__ = ["AbortSignal", "Aborted", "bounded"]

T = TypeVar("T")


class Aborted(Exception):
    """The run was aborted while something of it was being waited for."""


class AbortSignal:
    """Set once, never cleared; one for each run. Belongs to the event loop it is used on."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self._callbacks: list[Callable[[], None]] = []

    @property
    def aborted(self) -> bool:
        return self._event.is_set()

    def set(self) -> None:
        if self._event.is_set():
            return
        self._event.set()
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    def on_abort(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` at the abort (now, if it has happened); the result takes it back."""
        if self.aborted:
            callback()
            return lambda: None
        self._callbacks.append(callback)
        return lambda: self._callbacks.remove(callback) if callback in self._callbacks else None

    async def wait(self) -> None:
        await self._event.wait()

    def raise_if_aborted(self) -> None:
        if self.aborted:
            raise Aborted


async def bounded(awaitable: Awaitable[T], *, signal: AbortSignal, limit: float | None) -> T:
    """Await somebody else's work, ended by the abort and by a limit in seconds.

    Raises `Aborted` or `TimeoutError` at once, also when the work ignores its cancellation, and
    RuntimeError when the work was cancelled by somebody else.
    """
    work = asyncio.ensure_future(awaitable)
    abort = asyncio.ensure_future(signal.wait())
    try:
        signal.raise_if_aborted()
        await asyncio.wait({work, abort}, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
        if work.cancelled():
            raise RuntimeError("it was cancelled")
        if work.done():
            return work.result()
        if abort.done():
            raise Aborted
        raise TimeoutError
    finally:
        abort.cancel()
        if not work.done():
            work.cancel()
            work.add_done_callback(_retrieve)


def _retrieve(task: asyncio.Future[T]) -> None:
    """Take the outcome of abandoned work, so that the loop does not report it as lost."""
    if not task.cancelled():
        task.exception()
