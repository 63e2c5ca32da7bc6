"""A listener that fails, hangs or lies harms neither the run nor the others (E4)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

import pytest

from pilothouse_agent.kernel.bus import Listener
from pilothouse_agent.kernel.events import AgentEnd, Event, Notice
from pilothouse_agent.kernel.settings import RunSettings
from support.kernel import Bench, Gate, asks, bench, call, echo_tool, fails, says, soon
from support.recorder import Recorder, line

EVENTS = [
    "AS",
    "PH idle→turn",
    "TS1",
    "MS(U)",
    "ME(U,Hi)",
    "PH turn→retry",
    "RS 1/3 2000",
    "PH retry→turn",
    "MS(A)",
    "MU c1:{}",
    "ME(A,toolUse)",
    "XS c1",
    "XE c1 ok",
    "MS(R)",
    "ME(R,c1 ok)",
    "TE1",
    "TS2",
    "MS(A)",
    "MU:done",
    "ME(A,stop)",
    "TE2",
    "PH turn→idle",
    "AE completed",
]


def eventful(settings: RunSettings | None = None) -> Bench:
    """A run whose events are EVENTS."""
    return bench(
        [fails("overloaded", retryable=True)],
        asks(call("c1", "echo")),
        says("done"),
        tools=[echo_tool()],
        settings=settings,
    )


def raising(error: BaseException) -> Listener:
    def listener(event: Event) -> None:
        raise error

    return listener


def raising_later(error: BaseException) -> Listener:
    async def listener(event: Event) -> None:
        await asyncio.sleep(0)
        raise error

    return listener


def returning_nonsense(error: BaseException) -> Listener:
    return cast("Listener", lambda event: 42)  # pyright: ignore[reportUnknownLambdaType]


def without_notices(b: Bench) -> list[str]:
    return [text for text in b.lines if not text.startswith("NO")]


@pytest.mark.covers("E4", "K86")
@pytest.mark.parametrize("make", [raising, raising_later, returning_nonsense])
@pytest.mark.parametrize(
    "error", [ValueError("no"), asyncio.CancelledError(), TimeoutError()], ids=lambda e: type(e).__name__
)
async def test_a_listener_that_always_fails_harms_neither_run_nor_others_and_is_told_of_once(
    make: Callable[[BaseException], Listener], error: BaseException
) -> None:
    b, after = eventful(), Recorder()
    b.agent.subscribe(make(error))
    b.agent.subscribe(after)

    result = await b.run("Hi")

    assert result.stop_reason == "completed"
    assert without_notices(b) == EVENTS
    assert [event.code for event in b.events.of(Notice)] == ["listenerFailed"]
    assert after.lines == b.lines


@pytest.mark.covers("E4", "K86", "K87")
@pytest.mark.parametrize("where", range(len(EVENTS)), ids=EVENTS)
async def test_a_listener_may_fail_at_any_event(where: int) -> None:
    b = eventful()
    seen: list[str] = []

    def listener(event: Event) -> None:
        seen.append(line(event))
        if len(seen) == where + 1:
            raise ValueError("no")

    b.agent.subscribe(listener)
    result = await b.run("Hi")

    told = [] if EVENTS[where] == "AE completed" else ["NO listenerFailed"]
    assert result.stop_reason == "completed"
    assert b.lines == [*EVENTS[: where + 1], *told, *EVENTS[where + 1 :]]
    assert seen == b.lines


@pytest.mark.covers("E4")
async def test_a_failure_at_a_notice_is_not_told_again() -> None:
    b = eventful()
    b.agent.subscribe(raising(ValueError("no")))
    b.agent.subscribe(raising(KeyError("no")))

    await b.run("Hi")

    assert [event.message for event in b.events.of(Notice)] == [
        "A listener failed at agent_start: ValueError: no",
        "A listener failed at agent_start: KeyError: 'no'",
    ]


@pytest.mark.covers("E4", "K89")
@pytest.mark.parametrize("where", ["AS", "MU:done", "PH turn→idle", "AE completed"])
async def test_a_listener_that_hangs_is_cancelled_and_unsubscribed_and_the_run_finishes(where: str) -> None:
    b, after = eventful(RunSettings(listener_limit=0.2)), Recorder()
    seen: list[str] = []
    cancelled = asyncio.Event()

    async def hang(event: Event) -> None:
        seen.append(line(event))
        if seen[-1] == where:
            try:
                await asyncio.Event().wait()
            finally:
                cancelled.set()

    b.agent.subscribe(hang)
    b.agent.subscribe(after)
    result = await b.run("Hi")

    index = EVENTS.index(where)
    told = [] if where == "AE completed" else ["NO listenerTimeout"]
    await soon(cancelled.wait())
    assert result.stop_reason == "completed"
    assert seen == EVENTS[: index + 1]
    assert b.lines == after.lines == [*EVENTS[: index + 1], *told, *EVENTS[index + 1 :]]


@pytest.mark.covers("E4")
async def test_a_listener_that_ignores_its_cancellation_is_left_behind() -> None:
    b, release = eventful(RunSettings(listener_limit=0.2)), Gate()

    async def stubborn(event: Event) -> None:
        try:
            await release()
        except asyncio.CancelledError:
            await release()
            raise ValueError("too late to matter") from None

    b.agent.subscribe(stubborn)
    result = await b.run("Hi")
    release.open()

    assert result.stop_reason == "completed"
    assert without_notices(b) == EVENTS


@pytest.mark.covers("E4")
async def test_the_limit_counts_for_each_event_anew() -> None:
    b = bench(says(*"abcdefghij"), settings=RunSettings(listener_limit=0.2))

    async def slowish(event: Event) -> None:
        await asyncio.sleep(0.015)

    b.agent.subscribe(slowish)
    await b.run("Hi")

    assert b.events.of(Notice) == []


@pytest.mark.covers("E2", "E4")
async def test_a_listener_that_fails_at_the_end_does_not_end_the_run_twice() -> None:
    b = bench(says("ok"))

    def at_end(event: Event) -> None:
        if isinstance(event, AgentEnd):
            raise ValueError("no")

    b.agent.subscribe(at_end)
    b.agent.subscribe(at_end)
    await b.run("Hi")

    assert b.lines.count("AE completed") == 1
    assert b.events.of(Notice) == []
