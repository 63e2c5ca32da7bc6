"""Threads for looks at the disk, which may be a network's that never answers.

They are not the event loop's, of which there are few: a few paths that hang would hold up everything else.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from queue import SimpleQueue
from typing import Any, TypeAlias, TypeVar

__all__ = ["LOOK_LIMIT", "DiskThreads", "in_thread", "look"]

T = TypeVar("T")

LOOK_LIMIT = 5.0
"""Seconds for finding out where a path leads."""

_AT_MOST = 64

_Job: TypeAlias = "tuple[Future[Any], Callable[[], Any]]"


class DiskThreads:
    """Made as they are needed, kept for the next, and no reason for a process to live on."""

    def __init__(self, at_most: int = _AT_MOST) -> None:
        self._at_most = at_most
        self._jobs: SimpleQueue[_Job] = SimpleQueue()
        self._lock = threading.Lock()
        self._idle = 0
        self._count = 0

    @property
    def full(self) -> bool:
        """As many looks as there may be have not come back."""
        return not self._idle and self._count >= self._at_most

    def submit(self, work: Callable[[], T]) -> Future[T]:
        """Raises `ToolError` when as many looks as there may be have not come back."""
        future: Future[T] = Future()
        with self._lock:
            if self._idle:
                self._idle -= 1
            elif self._count < self._at_most:
                self._count += 1
                threading.Thread(target=self._run, name="disk", daemon=True).start()
            else:
                raise _refused(
                    f"The file system does not answer: {self._at_most} looks at it are still out. Nothing "
                    "was done; try again later."
                )
        self._jobs.put((future, partial(contextvars.copy_context().run, work)))
        return future

    def _run(self) -> None:
        while True:
            future, work = self._jobs.get()
            if future.set_running_or_notify_cancel():
                try:
                    result = work()
                except BaseException as error:
                    future.set_exception(error)
                else:
                    future.set_result(result)
                    del result
            # What was asked for and given back is nobody's any more while the thread waits.
            del future, work
            with self._lock:
                self._idle += 1


_THREADS = DiskThreads()


async def in_thread(work: Callable[..., T], *arguments: Any) -> T:
    """As `asyncio.to_thread`. When the caller is cancelled, work that has begun goes on unobserved."""
    return await asyncio.wrap_future(_THREADS.submit(partial(work, *arguments)))


def look(work: Callable[[], T], shown: str) -> T:
    """For callers in a thread of their own: raises `ToolError` when there is no answer within the limit."""
    try:
        return _THREADS.submit(work).result(LOOK_LIMIT)
    except TimeoutError:
        raise _refused(
            f"The file system did not answer within {LOOK_LIMIT:.0f} s about {shown}. Nothing was done; try "
            "again later."
        ) from None


def _refused(text: str) -> Exception:
    # Late: threads are there before the kernel, which takes long to load, and hardly ever refuse.
    from pilothouse_agent.kernel.tooling import ToolError

    return ToolError(text)
