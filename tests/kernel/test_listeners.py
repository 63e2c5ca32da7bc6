"""Listeners observe: served in order, awaited, and unable to harm the run (E4, E5, B4)."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable
from typing import cast

import pytest

from pilothouse_agent.kernel.bus import EventBus, Listener
from pilothouse_agent.kernel.events import AgentEnd, Event, MessageUpdate, Notice, TurnStart
from pilothouse_agent.kernel.hooks import BlockCall
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


@pytest.mark.covers("E4", "K88")
async def test_listeners_are_served_in_order_and_the_run_waits_for_each() -> None:
    gate, tool = Gate(), echo_tool()
    b = bench(asks(call("c1", "echo")), says("ok"), tools=[tool])
    order: list[str] = []

    async def slow(event: Event) -> None:
        if line(event) == "ME(A,toolUse)":
            await gate()
        order.append(f"slow {line(event)}")

    def quick(event: Event) -> None:
        order.append(f"quick {line(event)}")

    b.agent.subscribe(slow)
    b.agent.subscribe(quick)
    run = b.agent.prompt("Hi")
    await gate.arrival()
    await asyncio.sleep(0)
    assert (tool.ran, b.lines[-1]) == ([], "ME(A,toolUse)")

    gate.open()
    await soon(run)

    assert order == [f"{who} {text}" for text in b.lines for who in ("slow", "quick")]


@pytest.mark.covers("E4")
async def test_a_listener_that_returns_nothing_costs_no_turn_of_the_loop() -> None:
    seen: list[Event] = []
    bus = EventBus(lambda event: None, limit=30)
    bus.subscribe(seen.append)

    publishing = bus.publish(TurnStart(1))
    with pytest.raises(StopIteration):
        publishing.send(None)

    assert seen == [TurnStart(1)]


@pytest.mark.covers("E4", "K89")
@pytest.mark.parametrize("where", ["AS", "MU:done", "PH turn→idle", "AE completed"])
async def test_a_listener_that_hangs_is_cancelled_and_unsubscribed_and_the_run_finishes(where: str) -> None:
    b, after = eventful(RunSettings(listener_limit=0.02)), Recorder()
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
    b, release = eventful(RunSettings(listener_limit=0.02)), Gate()

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


@pytest.mark.covers("E4", "K90")
@pytest.mark.parametrize("how", ["wait_for_idle", "the run"])
async def test_waiting_for_the_run_inside_a_listener_raises_at_once(how: str) -> None:
    b = bench(says("ok"))
    said: list[str] = []

    async def impatient(event: Event) -> None:
        try:
            await (b.agent.wait_for_idle() if how == "wait_for_idle" else run)
        except RuntimeError as error:
            said.append(str(error))

    b.agent.subscribe(impatient)
    run = b.agent.prompt("Hi")
    await soon(run)

    assert said == ["A listener must not wait for the run that is waiting for it."] * len(b.lines)


@pytest.mark.covers("E5", "K91")
async def test_a_listener_added_during_delivery_sees_the_next_event_on() -> None:
    b, late = bench(says("ok")), Recorder()

    def adding(event: Event) -> None:
        if line(event) == "TS1":
            b.agent.subscribe(late)

    b.agent.subscribe(adding)
    await b.run("Hi")

    assert late.lines == b.lines[3:]


@pytest.mark.covers("E5", "K91")
async def test_a_listener_may_unsubscribe_itself_and_others_during_delivery() -> None:
    b = bench(says("ok"))
    seen: dict[str, list[str]] = {"first": [], "second": [], "third": []}
    leave: dict[str, Callable[[], None]] = {}

    async def first(event: Event) -> None:
        seen["first"].append(line(event))
        if line(event) == "TS1":
            await asyncio.sleep(0)
            leave["first"]()
            leave["second"]()
            leave["first"]()

    leave["first"] = b.agent.subscribe(first)
    leave["second"] = b.agent.subscribe(lambda event: seen["second"].append(line(event)))
    leave["third"] = b.agent.subscribe(lambda event: seen["third"].append(line(event)))
    await b.run("Hi")

    assert seen["first"] == ["AS", "PH idle→turn", "TS1"]
    assert seen["second"] == ["AS", "PH idle→turn"]
    assert seen["third"] == b.lines


@pytest.mark.covers("E4")
async def test_the_same_listener_twice_is_two_subscriptions() -> None:
    b, twice = bench(says("ok")), Recorder()
    leave = b.agent.subscribe(twice)
    b.agent.subscribe(twice)

    await b.run("Hi")
    assert twice.lines == [text for text in b.lines for _ in range(2)]

    leave()
    twice.clear()
    await b.run("again")
    assert twice.lines[0] == "AS"
    assert twice.lines.count("AS") == 1


@pytest.mark.covers("E4")
async def test_what_a_listener_causes_is_published_after_the_event_it_is_served() -> None:
    b, after = bench(says("ok"), says("S")), Recorder()

    def steering(event: Event) -> None:
        if isinstance(event, MessageUpdate) and event.text == "ok":
            b.agent.steer("S")

    b.agent.subscribe(steering)
    b.agent.subscribe(after)
    await b.run("Hi")

    index = b.lines.index("MU:ok")
    assert b.lines[index : index + 3] == ["MU:ok", "QU [S] []", "ME(A,stop)"]
    assert after.lines == b.lines


@pytest.mark.covers("B4")
async def test_what_a_listener_returns_changes_nothing() -> None:
    tool = echo_tool()
    b = bench(asks(call("c1", "echo")), says("ok"), tools=[tool])

    async def meddling(event: Event) -> object:
        return BlockCall("no")

    b.agent.subscribe(cast("Listener", meddling))

    assert (await b.run("Hi")).stop_reason == "completed"
    assert len(tool.ran) == 1


@pytest.mark.covers("E4", "K92")
async def test_state_has_taken_an_event_in_before_a_listener_sees_it() -> None:
    b = bench(asks(call("c1", "echo"), text="x"), [fails("auth", "no")], tools=[echo_tool()])
    facts: dict[str, object] = {}

    def look(event: Event) -> None:
        state = b.agent.state
        partial = state.streaming_message and len(state.streaming_message.content)
        facts[line(event)] = (state.phase, state.is_streaming, partial, state.pending_tool_calls)

    b.agent.subscribe(look)
    await b.run("Hi")

    assert facts == {
        "AS": ("idle", False, None, ()),
        "PH idle→turn": ("turn", False, None, ()),
        "TS1": ("turn", False, None, ()),
        "MS(U)": ("turn", False, None, ()),
        "ME(U,Hi)": ("turn", False, None, ()),
        "MS(A)": ("turn", True, 0, ()),
        "MU:x": ("turn", True, 1, ()),
        "MU c1:{}": ("turn", True, 2, ()),
        "ME(A,toolUse)": ("turn", False, None, ()),
        "XS c1": ("turn", False, None, ("c1",)),
        "XE c1 ok": ("turn", False, None, ()),
        "MS(R)": ("turn", False, None, ()),
        "ME(R,c1 ok)": ("turn", False, None, ()),
        "TE1": ("turn", False, None, ()),
        "TS2": ("turn", False, None, ()),
        "ME(A,error)": ("turn", False, None, ()),
        "TE2": ("turn", False, None, ()),
        "PH turn→idle": ("idle", False, None, ()),
        "AE error": ("idle", False, None, ()),
    }


@pytest.mark.covers("B3", "K93")
async def test_what_a_listener_is_given_cannot_be_changed() -> None:
    b = bench(says("ok"))
    await b.run("Hi")
    state, start = b.agent.state, b.events.events[0]
    assert isinstance(state.messages, tuple)

    for value, field in [(state, "messages"), (start, "model"), (state.messages[0], "content")]:
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(value, field, ())

    assert b.shown == ["U:Hi", "A:ok"]


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
