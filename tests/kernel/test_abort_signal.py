"""The signal itself, and waiting for others under it (A5)."""

from __future__ import annotations

import asyncio

import pytest

from pilothouse_agent.kernel.abort import Aborted, AbortSignal, bounded
from support.kernel import Gate, soon


async def give(value: str) -> str:
    return value


@pytest.mark.covers("A5")
def test_what_was_registered_is_called_once_at_the_abort_or_at_once_after_it() -> None:
    signal, called = AbortSignal(), list[str]()
    signal.on_abort(lambda: called.append("early"))
    forget = signal.on_abort(lambda: called.append("forgotten"))
    forget()
    forget()
    assert called == []

    signal.set()
    signal.set()
    signal.on_abort(lambda: called.append("late"))()

    assert (called, signal.aborted) == (["early", "late"], True)


@pytest.mark.covers("A5")
async def test_work_that_ends_in_time_gives_its_value() -> None:
    assert await bounded(give("done"), signal=AbortSignal(), limit=5) == "done"


@pytest.mark.covers("A5", "T8")
async def test_after_an_abort_the_work_is_not_even_begun() -> None:
    signal, begun = AbortSignal(), list[str]()
    signal.set()

    async def work() -> None:
        begun.append("begun")

    with pytest.raises(Aborted):
        await bounded(work(), signal=signal, limit=None)
    await asyncio.sleep(0)
    assert begun == []


@pytest.mark.covers("A5")
@pytest.mark.parametrize("ending", ["abort", "limit", "cancelled caller"])
async def test_work_that_ignores_its_cancellation_is_left_behind(ending: str) -> None:
    signal, stubborn, release = AbortSignal(), Gate(), Gate()

    async def work() -> None:
        try:
            await stubborn()
        except asyncio.CancelledError:
            await release()
            raise ValueError("too late to matter") from None

    limit = 0.01 if ending == "limit" else None
    waiting = asyncio.create_task(bounded(work(), signal=signal, limit=limit))
    await stubborn.arrival()
    if ending == "abort":
        signal.set()
    elif ending == "cancelled caller":
        waiting.cancel()

    with pytest.raises((Aborted, TimeoutError, asyncio.CancelledError)) as raised:
        await soon(waiting)
    release.open()

    expected = {"abort": Aborted, "limit": TimeoutError, "cancelled caller": asyncio.CancelledError}
    assert raised.type is expected[ending]


@pytest.mark.covers("A5")
async def test_work_cancelled_by_somebody_else_is_a_failure_not_a_cancellation() -> None:
    async def work() -> None:
        raise asyncio.CancelledError

    with pytest.raises(RuntimeError, match="it was cancelled"):
        await bounded(work(), signal=AbortSignal(), limit=None)
