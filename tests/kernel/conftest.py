"""Every test of the kernel must leave no task behind: what ends with a run really ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

_SPINS = 50
"""Turns of the loop that cancelled tasks are given to end."""


@pytest.fixture(autouse=True)
async def _nothing_left_running() -> AsyncIterator[None]:  # pyright: ignore[reportUnusedFunction]
    yield
    left: set[asyncio.Task[object]] = set()
    for _ in range(_SPINS):
        left = asyncio.all_tasks() - {task for task in [asyncio.current_task()] if task is not None}
        if not left:
            return
        await asyncio.sleep(0)
    pytest.fail("left running: " + ", ".join(str(task.get_coro()) for task in left))
