"""Who may start a run and when, and what the caller gets (A1, A2, A4, A7)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from pilothouse_agent.kernel.agent import Agent
from pilothouse_agent.kernel.errors import AgentBusy
from pilothouse_agent.kernel.events import AgentEnd, Event, SessionUpdate
from pilothouse_agent.kernel.messages import UserMessage
from pilothouse_agent.kernel.request import Delta, Finished
from support.kernel import FakeClock, Gate, asks, bench, block, call, echo_tool, fails, says, soon


@pytest.mark.covers("A1", "K96", "R103")
async def test_of_two_prompts_in_one_tick_one_runs_and_the_other_is_told_busy() -> None:
    b = bench(says("one"))

    first = b.agent.prompt("1")
    with pytest.raises(AgentBusy, match="busy"):
        b.agent.prompt("2")

    assert (await soon(first)).text == "one"
    assert b.shown == ["U:1", "A:one"]


@pytest.mark.covers("A1", "K96", "R103")
async def test_a_prompt_during_a_run_is_refused_and_the_run_unharmed() -> None:
    gate = Gate()
    b = bench([Delta("text", 0, "a"), gate, Delta("text", 0, "b"), Finished("stop")])
    run = b.agent.prompt("1")
    await gate.arrival()

    with pytest.raises(AgentBusy):
        b.agent.prompt("2")
    gate.open()

    assert (await soon(run)).text == "ab"
    assert len(b.model.requests) == 1


@pytest.mark.covers("A1")
async def test_a_prompt_admits_before_anything_is_awaited() -> None:
    b = bench(says("ok"))

    run = b.agent.prompt("Hi")
    assert (b.agent.busy, b.lines) == (True, [])

    await soon(run)
    assert b.agent.busy is False


@pytest.mark.covers("A1")
async def test_a_run_goes_on_when_nobody_awaits_it() -> None:
    b = bench(says("ok"))

    b.agent.prompt("Hi")
    await soon(b.agent.wait_for_idle())

    assert b.lines[-1] == "AE completed"


@pytest.mark.covers("A1")
async def test_cancelling_the_caller_aborts_the_run() -> None:
    gate = Gate()
    b = bench([Delta("text", 0, "par"), gate])

    async def caller() -> None:
        await b.agent.prompt("Hi")

    task = asyncio.create_task(caller())
    await gate.arrival()
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    await soon(b.agent.wait_for_idle())
    assert b.shown == ["U:Hi", "A:par (aborted)"]
    assert b.lines[-1] == "AE aborted"


@pytest.mark.covers("A1")
async def test_a_caller_cancelled_after_the_end_does_not_abort_the_next_run() -> None:
    b = bench(says("1"), says("2"))
    first = b.agent.prompt("a")

    async def late() -> None:
        await first
        await asyncio.Event().wait()

    waiting = asyncio.create_task(late())
    await soon(b.agent.wait_for_idle())
    second = b.agent.prompt("b")
    waiting.cancel()

    assert (await soon(second)).stop_reason == "completed"


@pytest.mark.covers("A2")
async def test_a_run_can_be_awaited_by_many_and_late() -> None:
    b = bench(says("ok"))
    run = b.agent.prompt("Hi")

    both = await soon(asyncio.gather(run, run))

    assert both == [await soon(run)] * 2


@pytest.mark.covers("A2", "E2")
async def test_the_run_settles_when_the_last_listener_is_done_with_the_last_event() -> None:
    b, gate = bench(says("ok")), Gate()

    async def slow(event: Event) -> None:
        if isinstance(event, AgentEnd):
            await gate()

    b.agent.subscribe(slow)
    run = b.agent.prompt("Hi")
    await gate.arrival()

    assert (b.lines[-1], b.agent.busy, b.agent.state.phase) == ("AE completed", True, "idle")
    with pytest.raises(AgentBusy):
        b.agent.prompt("too early")
    gate.open()
    assert (await soon(run)).stop_reason == "completed"
    assert b.agent.busy is False


@pytest.mark.covers("A4", "K100")
async def test_wait_for_idle_returns_at_once_when_idle() -> None:
    await soon(bench().agent.wait_for_idle(), limit=0.5)


@pytest.mark.covers("A4", "K100")
@pytest.mark.parametrize("ending", ["completed", "error", "aborted"])
async def test_wait_for_idle_wakes_all_who_wait_whatever_the_ending(ending: str) -> None:
    gate = Gate()
    last = fails("auth") if ending == "error" else Finished("stop")
    b = bench([Delta("text", 0, "x"), gate, last])
    b.agent.prompt("Hi")
    waiters = [asyncio.create_task(b.agent.wait_for_idle()) for _ in range(3)]
    await gate.arrival()

    if ending == "aborted":
        b.agent.abort()
    gate.open()
    await soon(asyncio.gather(*waiters))

    assert (b.lines[-1], b.agent.busy) == (f"AE {ending}", False)


@pytest.mark.covers("A7", "K94")
async def test_settings_changed_in_a_run_count_from_the_next_request_on() -> None:
    gate, kept, new = Gate(), echo_tool("kept"), echo_tool("new")
    b = bench([Delta("toolCall", 0, "{}", "c1", "kept"), gate, Finished("toolUse")], says("ok"), tools=[kept])
    b.agent.set_system_prompt("old")
    run = b.agent.prompt("Hi")
    await gate.arrival()

    b.agent.set_model("other")
    b.agent.set_thinking("high")
    b.agent.set_system_prompt(lambda specs: ",".join(spec.name for spec in specs))
    b.agent.set_tools([new])
    gate.open()
    await soon(run)

    sent = [(r.model, r.thinking, r.system, [t.name for t in r.tools]) for r in b.model.requests]
    assert sent == [("m", "off", "old", ["kept"]), ("other", "high", "new", ["new"])]
    assert b.shown[2] == "R c1:ok"
    assert len(kept.ran) == 1


@pytest.mark.covers("A7")
async def test_a_change_of_model_or_thinking_is_told() -> None:
    b = bench()

    b.agent.set_model("other")
    b.agent.set_thinking("high")
    await asyncio.sleep(0)

    assert b.events.events == [SessionUpdate(model="other"), SessionUpdate(thinking="high")]


@pytest.mark.covers("A7", "K94")
async def test_a_retry_is_a_request_of_its_own_for_changed_settings() -> None:
    clock = FakeClock(hold=True)
    b = bench([fails("overloaded", retryable=True)], says("ok"), clock=clock)
    run = b.agent.prompt("Hi")
    await soon(clock.asleep.wait())

    b.agent.set_model("other")
    clock.release()
    await soon(run)

    assert [request.model for request in b.model.requests] == ["m", "other"]


def load(agent: Agent) -> object:
    return agent.load([])


def append_custom(agent: Agent) -> object:
    return agent.append_custom("note", "x")


def continue_(agent: Agent) -> object:
    return agent.continue_()


@pytest.mark.covers("A7", "B3", "K95", "K99", "K137")
@pytest.mark.parametrize("change", [load, append_custom, continue_])
async def test_the_conversation_cannot_be_changed_from_outside_during_a_run(
    change: Callable[[Agent], object],
) -> None:
    gate = Gate()
    b = bench(asks(call("c1", "wait")), says("ok"), tools=[echo_tool("wait")])
    b.agent.subscribe(lambda event: gate() if event.type == "tool_execution_start" else None)
    run = b.agent.prompt("Hi")
    await gate.arrival()

    with pytest.raises(AgentBusy):
        change(b.agent)
    gate.open()
    await soon(run)

    assert b.shown == ["U:Hi", "A: [c1]", "R c1:ok", "A:ok"]


@pytest.mark.covers("A7")
async def test_a_loaded_conversation_is_what_the_next_request_carries() -> None:
    b = bench(says("1"), says("2"))
    await b.run("old")

    b.agent.load([UserMessage("u", block("loaded"), FakeClock().now())])
    await b.run("new")

    assert b.model.shown[1] == ["U:loaded", "U:new"]
