"""The signal that a run is to stop."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar, cast

from pilothouse_agent.kernel.foreign import Escape, contained, guarded

__all__ = ["AbortSignal", "Aborted", "bounded"]

T = TypeVar("T")
logger = logging.getLogger(__name__)


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
            _call(callback)

    def on_abort(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` at the abort (now, if it has happened); the result takes it back.

        One that raises is logged and harms nobody.
        """
        if self.aborted:
            _call(callback)
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
    RuntimeError when the work was cancelled by somebody else. What the work raises comes out as an
    `Exception` in any case.
    """
    own = isinstance(awaitable, asyncio.Future)
    work = awaitable if own else asyncio.ensure_future(contained(lambda: awaitable))
    abort = asyncio.get_running_loop().create_future()
    forget = signal.on_abort(lambda: abort.set_result(None))
    try:
        signal.raise_if_aborted()
        await asyncio.wait({work, abort}, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
        if work.cancelled():
            raise RuntimeError("it was cancelled")
        if work.done():
            return _outcome(work)
        if abort.done():
            raise Aborted
        raise TimeoutError
    finally:
        forget()
        if not work.done():
            work.cancel()
            work.add_done_callback(_retrieve)
            _discard_unbegun(awaitable)


def _call(callback: Callable[[], None]) -> None:
    try:
        outcome = cast("object", guarded(callback))
    except Exception:
        logger.exception("A callback of the abort signal raised")
        return
    if inspect.iscoroutine(outcome):
        outcome.close()
        logger.error("A callback of the abort signal was not a plain function; it did not run")


def _outcome(work: asyncio.Future[T]) -> T:
    error = work.exception()
    if error is not None and not isinstance(error, Exception):
        raise Escape from error
    return work.result()


def _discard_unbegun(awaitable: Awaitable[object]) -> None:
    """Work that was cancelled before its first step will never be awaited, and is not to complain of it."""
    if inspect.iscoroutine(awaitable) and inspect.getcoroutinestate(awaitable) == inspect.CORO_CREATED:
        awaitable.close()


def _retrieve(task: asyncio.Future[T]) -> None:
    """Take the outcome of abandoned work, so that the loop does not report it as lost."""
    if not task.cancelled():
        task.exception()
