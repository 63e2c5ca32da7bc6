"""Calls into code that is not ours: whatever it raises is an error of that call and of nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import copy_context
from functools import partial
from typing import ParamSpec, TypeVar

__all__ = ["Escape", "cancelled_from_outside", "contained", "described", "guarded", "in_thread"]

P = ParamSpec("P")
T = TypeVar("T")

_SHOWN = 2000
"""Characters of an error's own words."""


class Escape(Exception):
    """Stands for what `except Exception` would let through, such as SystemExit; that is its cause."""


def guarded(function: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
    """Call it. Raises nothing but `Exception`, and nothing that a future cannot carry."""
    try:
        return function(*args, **named)
    except BaseException as error:
        if isinstance(error, Exception) and not isinstance(error, StopIteration):
            raise
        raise Escape from error


async def contained(function: Callable[P, Awaitable[T]], *args: P.args, **named: P.kwargs) -> T:
    """Call and await it; what ends a process when it leaves a task becomes an `Escape`."""
    awaitable = guarded(function, *args, **named)
    try:
        return await awaitable
    except (SystemExit, KeyboardInterrupt) as error:
        raise Escape from error


def in_thread(function: Callable[P, T], *args: P.args, **named: P.kwargs) -> asyncio.Future[T]:
    """`guarded` in a thread; like `asyncio.to_thread`, but begun at once and without a task around it."""
    call = partial(copy_context().run, guarded, function, *args, **named)
    return asyncio.get_running_loop().run_in_executor(None, call)


def described(error: BaseException) -> str:
    """`ValueError: no`, bounded, also for an error that cannot be turned into text."""
    if isinstance(error, Escape) and error.__cause__ is not None:
        error = error.__cause__
    try:
        text = guarded(str, error)
    except Exception:
        text = "(its text cannot be shown)"
    text = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text)} characters)"
    return f"{type(error).__name__}: {text}"


def cancelled_from_outside() -> bool:
    """Whether a CancelledError just caught is meant for this task, and not a fault of what it called."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
