"""Notices the end of a process that is not a child of ours."""

from __future__ import annotations

import asyncio
import os

__all__ = ["gone"]

_CHECK = 1.0


async def gone(process_id: int) -> None:
    """Returns when there is no such process, at no cost meanwhile where the system can tell."""
    try:
        descriptor = os.pidfd_open(process_id)
    except (ProcessLookupError, OverflowError):
        return
    except (AttributeError, OSError):
        await _gone_by_polling(process_id)
        return
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(descriptor, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


async def _gone_by_polling(process_id: int) -> None:
    while _alive(process_id):  # noqa: ASYNC110 - nobody could set an event
        await asyncio.sleep(_CHECK)


def _alive(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
