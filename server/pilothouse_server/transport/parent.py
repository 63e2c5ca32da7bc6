"""Notices the end of a process that is not a child of ours."""

from __future__ import annotations

import asyncio
import os

__all__ = ["gone", "gone_by_polling"]


async def gone(process_id: int) -> None:
    """Returns when there is no such process, at no cost meanwhile where the system can tell."""
    try:
        descriptor = os.pidfd_open(process_id)
    except (ProcessLookupError, OverflowError):
        return
    except (AttributeError, OSError):
        await gone_by_polling(process_id)
        return
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(descriptor, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


async def gone_by_polling(process_id: int, *, every: float = 1.0) -> None:
    """The same for systems that tell nobody, looked for `every` so many seconds."""
    while _alive(process_id):  # noqa: ASYNC110 - nobody could set an event
        await asyncio.sleep(every)


def _alive(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
