"""The server as a process: a loop of its own, and an end that nothing can hold up."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Coroutine
from typing import Any, NoReturn

__all__ = ["run_process"]

logger = logging.getLogger(__name__)

_ROUNDS, _ROUND = 3, 0.1
"""How often what still goes on is cancelled, and the seconds it has each time."""


def run_process(main: Callable[[], Coroutine[Any, Any, int]]) -> NoReturn:
    """Run `main` and leave the process with the code it returns; 1 when it raises.

    Waits neither for threads, one of which may sit in a read for ever, nor for the interpreter.
    """
    code = 1
    try:
        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        code = _run(loop, loop.create_task(main()))
        _run(loop, loop.create_task(_cancel_rest()))
    except BaseException:
        logger.critical("The server failed", exc_info=True)
    finally:
        logging.shutdown()
        os._exit(code)


def _run(loop: asyncio.AbstractEventLoop, task: asyncio.Task[int]) -> int:
    """A `sys.exit` in some other task ends that task alone."""
    while True:
        try:
            return loop.run_until_complete(task)
        except BaseException:
            if task.done():
                raise
            logger.exception("A task tried to end the process")


async def _cancel_rest() -> int:
    """More than once, since what ends may begin a clean-up of its own, which must hurry then."""
    for _ in range(_ROUNDS):
        rest = asyncio.all_tasks() - {asyncio.current_task()}
        if not rest:
            break
        for task in rest:
            task.cancel()
        await asyncio.wait(rest, timeout=_ROUND)
    return 0
