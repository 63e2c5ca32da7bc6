"""Waiting for what must not be left half known."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

__all__ = ["outlast", "retrieve"]

T = TypeVar("T")


async def outlast(work: Coroutine[Any, Any, T], *, limit: float) -> T:
    """Wait for `work` even if this task is cancelled. Raises `TimeoutError` after `limit` seconds.

    Work that succeeds is answered by its result even then: it has happened, and the caller must say so
    (kernel.md F4); `Task.cancelling` still tells of the request. Work that fails has changed nothing, and
    the cancellation is passed on. Work that is not done at the limit runs on unobserved.
    """
    task = asyncio.ensure_future(work)
    loop = asyncio.get_running_loop()
    deadline = loop.time() + limit
    cancelled: asyncio.CancelledError | None = None
    while not task.done() and (left := deadline - loop.time()) > 0:
        try:
            await asyncio.wait({task}, timeout=left)
        except asyncio.CancelledError as error:
            cancelled = error
    if not task.done():
        task.add_done_callback(retrieve)
        raise TimeoutError
    if cancelled and (task.cancelled() or task.exception()):
        raise cancelled
    return task.result()


def retrieve(task: asyncio.Future[Any]) -> None:
    """Take the outcome, so that the loop does not report it as lost."""
    if not task.cancelled():
        task.exception()
