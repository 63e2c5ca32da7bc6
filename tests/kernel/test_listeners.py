"""Listeners observe: served in order, awaited, and unable to harm the run (E4, E5, B4)."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable
from typing import cast

import pytest

from pilothouse_agent.kernel.bus import EventBus, Listener
from pilothouse_agent.kernel.events import Event, MessageUpdate, TurnStart
from pilothouse_agent.kernel.hooks import BlockCall
from support.kernel import Gate, asks, bench, call, echo_tool, fails, says, soon
from support.recorder import Recorder, line


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
