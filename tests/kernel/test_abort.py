"""Aborting a run, wherever it is (A5, T8, Q3). Aborts of running tools: test_tools_abort.py."""

from __future__ import annotations

import asyncio

import pytest

from pilothouse_agent.kernel.events import (
    Event,
    QueueUpdate,
)
from pilothouse_agent.kernel.request import Delta, Finished
from support.kernel import (
    Bench,
    FakeTool,
    Gate,
    asks,
    bench,
    call,
    echo_tool,
    says,
    soon,
)


@pytest.mark.covers("A5", "K58", "R163")
async def test_text_that_had_come_is_kept_and_the_stream_closed() -> None:
    stall = Gate()
    b = bench([Delta("text", 0, "par"), stall])
    closed: list[int] = []
    b.agent.subscribe(lambda event: closed.append(b.model.closed) if b.lines[-1] == "ME(A,aborted)" else None)
    run = b.agent.prompt("Hi")
    await stall.arrival()

    b.agent.abort()
    result = await soon(run, limit=1)

    assert b.lines[5:] == ["MS(A)", "MU:par", "ME(A,aborted)", "TE1", "PH turn→idle", "AE aborted"]
    assert (result.stop_reason, result.text, result.error) == ("aborted", "par", None)
    assert b.agent.state.error_message == "The run was aborted."
    assert closed == [1]


@pytest.mark.covers("L3", "K59")
async def test_a_call_whose_arguments_were_still_coming_is_not_stored() -> None:
    stall, tool = Gate(), echo_tool()
    turn = [Delta("text", 0, "x"), Delta("toolCall", 1, '{"v":1}', "c1", "echo")]
    b = bench([*turn, Delta("toolCall", 2, '{"v":', "c2", "echo"), stall], tools=[tool])
    run = b.agent.prompt("Hi")
    await stall.arrival()

    b.agent.abort()
    await soon(run)

    assert b.shown[1:] == [
        "A:x [c1] (aborted)",
        "R c1:Aborted: the answer broke off before this call could run.!",
    ]
    assert b.lines[9:15] == ["ME(A,aborted)", "XS c1", "XE c1 aborted", "MS(R)", "ME(R,c1 error)", "TE1"]
    assert tool.ran == []


@pytest.mark.covers("T8", "K58")
async def test_before_the_first_word_no_empty_message_is_stored() -> None:
    stall = Gate()
    b = bench([stall])
    run = b.agent.prompt("Hi")
    await stall.arrival()

    b.agent.abort()
    result = await soon(run)

    assert b.lines == ["AS", "PH idle→turn", "TS1", "MS(U)", "ME(U,Hi)", "TE1", "PH turn→idle", "AE aborted"]
    assert (result.message, result.text, b.shown) == (None, "", ["U:Hi"])


@pytest.mark.covers("A5", "T8", "K69")
async def test_between_admission_and_the_first_event_no_request_is_made() -> None:
    b = bench(says("never"))

    run = b.agent.prompt("Hi")
    assert b.agent.abort() == ()
    result = await soon(run)

    assert (result.stop_reason, b.model.requests) == ("aborted", [])
    assert b.lines == ["AS", "PH idle→turn", "TS1", "MS(U)", "ME(U,Hi)", "TE1", "PH turn→idle", "AE aborted"]


@pytest.mark.covers("A5", "K68")
async def test_when_idle_it_does_nothing_and_twice_is_as_good_as_once() -> None:
    stall = Gate()
    b = bench([stall], says("next"))
    b.agent.steer("kept for the next prompt")
    assert b.agent.abort() == ()
    run = b.agent.prompt("Hi")
    await stall.arrival()
    b.agent.follow_up("F")

    first, second = b.agent.abort(), b.agent.abort()
    await soon(run)

    assert ([item.kind for item in first], second) == (["followUp"], ())
    assert b.agent.abort() == ()
    assert b.lines.count("AE aborted") == 1
    assert (await b.run("again")).stop_reason == "completed"


@pytest.mark.covers("A5", "K72")
async def test_a_new_prompt_works_as_soon_as_the_aborted_run_has_settled() -> None:
    stall = Gate()
    b = bench([Delta("text", 0, "par"), stall], says("fine"))
    run = b.agent.prompt("1")
    await stall.arrival()
    b.agent.abort()
    await soon(run)

    result = await b.run("2")

    assert (result.text, b.model.shown[1]) == ("fine", ["U:1", "A:par (aborted)", "U:2"])


@pytest.mark.covers("T8", "K63")
async def test_at_the_end_of_the_message_no_body_runs_and_each_call_has_a_result() -> None:
    tool = echo_tool()
    b = bench(asks(call("c1", "echo"), call("c2", "echo")), says("never"), tools=[tool])
    b.agent.subscribe(lambda event: None if b.lines[-1] != "ME(A,toolUse)" else abort(b))

    await b.run("Hi")

    assert b.lines[8:17] == [
        "ME(A,toolUse)",
        "XS c1",
        "XE c1 aborted",
        "XS c2",
        "XE c2 aborted",
        "MS(R)",
        "ME(R,c1 error)",
        "MS(R)",
        "ME(R,c2 error)",
    ]
    assert (tool.ran, len(b.model.requests)) == ([], 1)


def abort(b: Bench) -> None:
    b.agent.abort()


@pytest.mark.covers("A5", "E2")
@pytest.mark.parametrize("line", ["PH turn→idle", "AE completed"])
async def test_after_the_run_is_over_it_changes_nothing_any_more(line: str) -> None:
    b = bench(says("ok"), says("next"))
    b.agent.subscribe(lambda event: abort(b) if b.lines[-1] == line else None)

    result = await b.run("Hi")

    assert (result.stop_reason, b.lines[-1]) == ("completed", "AE completed")
    assert (await b.run("again")).text == "next"


@pytest.mark.covers("R095", "L2", "T8")
async def test_after_an_aborted_batch_the_next_request_has_one_result_for_each_call() -> None:
    stall = Gate()

    async def wait(arguments: object, context: object) -> object:
        await stall()

    b = bench(
        asks(call("c1", "wait"), call("c2", "wait"), call("c3", "wait")),
        says("ok"),
        tools=[FakeTool("wait", wait)],
    )
    run = b.agent.prompt("Hi")
    await stall.arrival()
    b.agent.abort()
    await soon(run)

    await b.run("go on")

    text = "Aborted while it was running.!"
    assert b.model.shown[1] == [
        "U:Hi",
        "A: [c1] [c2] [c3]",
        f"R c1:{text}",
        f"R c2:{text}",
        f"R c3:{text}",
        "U:go on",
    ]
    assert len(b.model.requests) == 2


@pytest.mark.covers("A5")
async def test_within_a_listener_it_is_allowed_and_the_run_ends() -> None:
    b = bench([Delta("text", 0, "x"), Delta("text", 0, "y"), Finished("stop")])

    async def at_update(event: Event) -> None:
        if event.type == "message_update":
            await asyncio.sleep(0)
            b.agent.abort()

    b.agent.subscribe(at_update)
    result = await b.run("Hi")

    assert (result.stop_reason, b.shown) == ("aborted", ["U:Hi", "A:x (aborted)"])
    assert QueueUpdate not in {type(event) for event in b.events.events}
