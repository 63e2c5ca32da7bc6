"""Aborting a run, wherever it is (A5, T8, Q3). Aborts of running tools: test_tools_abort.py."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence

import pytest

from pilothouse_agent.kernel.abort import AbortSignal
from pilothouse_agent.kernel.events import (
    AgentEnd,
    CompactionReason,
    Event,
    QueueUpdate,
)
from pilothouse_agent.kernel.hooks import BlockCall, Hooks, StopRun
from pilothouse_agent.kernel.messages import Message, ToolCall, UserMessage
from pilothouse_agent.kernel.ports import Compaction
from pilothouse_agent.kernel.request import Delta, Finished, ModelLimits, ModelRequest, StreamEvent
from pilothouse_agent.kernel.settings import RunSettings
from pilothouse_agent.kernel.state import AgentStateSnapshot
from support.kernel import (
    Bench,
    FakeClock,
    FakeTool,
    Gate,
    asks,
    bench,
    call,
    echo_tool,
    fails,
    says,
    soon,
)
from support.permissions import STOP, FakePermissions, FakeUser


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


@pytest.mark.covers("A5", "L7", "K70", "K83")
async def test_the_wait_for_a_retry_ends_at_once() -> None:
    clock = FakeClock(hold=True)
    b = bench([fails("overloaded", retryable=True)], says("never"), clock=clock)
    run = b.agent.prompt("Hi")
    await soon(clock.asleep.wait())

    b.agent.abort()
    await soon(run, limit=1)

    assert b.lines[5:] == ["PH turn→retry", "RS 1/3 2000", "TE1", "PH retry→idle", "AE aborted"]
    assert len(b.model.requests) == 1


class HangingCompactor:
    def __init__(self) -> None:
        self.gate = Gate()

    def due(self, tokens: int, limits: ModelLimits) -> bool:
        return True

    async def compact(
        self, messages: Sequence[Message], limits: ModelLimits, reason: CompactionReason
    ) -> Compaction | None:
        await self.gate()
        return Compaction((), "never")


@pytest.mark.covers("A5", "K70")
async def test_a_compaction_ends_at_once_and_leaves_the_history() -> None:
    compactor = HangingCompactor()
    b = bench(says("never"), compactor=compactor)
    run = b.agent.prompt("Hi")
    await compactor.gate.arrival()

    b.agent.abort()
    await soon(run, limit=1)

    assert b.lines[5:] == [
        "PH turn→compaction",
        "CS threshold",
        "CE threshold failed",
        "TE1",
        "PH compaction→idle",
        "AE aborted",
    ]
    assert (b.shown, b.model.requests) == (["U:Hi"], [])


@pytest.mark.covers("A5", "S1")
async def test_a_compaction_by_hand_can_be_aborted() -> None:
    compactor = HangingCompactor()
    b = bench(compactor=compactor)
    compacting = asyncio.create_task(b.agent.compact())
    await compactor.gate.arrival()

    b.agent.abort()

    assert await soon(compacting, limit=1) is False
    assert b.lines == ["PH idle→compaction", "CS manual", "CE manual failed", "PH compaction→idle"]
    assert b.agent.busy is False


def hangs_in_transform(hang: Gate) -> Hooks:
    async def transform(messages: Sequence[Message], signal: AbortSignal) -> Sequence[Message]:
        await hang()
        return messages

    return Hooks(transform_context=(transform,))


def hangs_in_convert(hang: Gate) -> Hooks:
    async def convert(messages: Sequence[Message]) -> Sequence[UserMessage]:
        await hang()
        return []

    return Hooks(convert_to_llm=convert)


def hangs_before_tool_call(hang: Gate) -> Hooks:
    async def before(call: ToolCall, signal: AbortSignal) -> BlockCall | None:
        await hang()
        return None

    return Hooks(before_tool_call=(before,))


def hangs_after_turn(hang: Gate) -> Hooks:
    async def after(snapshot: AgentStateSnapshot) -> StopRun | None:
        await hang()
        return None

    return Hooks(should_stop_after_turn=(after,))


@pytest.mark.covers("A5", "T8", "K62")
@pytest.mark.parametrize(
    ("hooks", "requests", "conversation"),
    [
        (hangs_in_transform, 0, ["U:Hi"]),
        (hangs_in_convert, 0, ["U:Hi"]),
        (hangs_before_tool_call, 1, ["U:Hi", "A: [c1]", "R c1:Aborted: the call did not run.!"]),
        (hangs_after_turn, 1, ["U:Hi", "A: [c1]", "R c1:ok"]),
    ],
)
async def test_a_hook_that_hangs_is_left_at_once(
    hooks: Callable[[Gate], Hooks], requests: int, conversation: list[str]
) -> None:
    hang = Gate()
    b = bench(asks(call("c1", "echo")), says("never"), tools=[echo_tool()], hooks=hooks(hang))
    run = b.agent.prompt("Hi")
    await hang.arrival()

    b.agent.abort()
    result = await soon(run, limit=1)

    assert (result.stop_reason, len(b.model.requests), b.shown) == ("aborted", requests, conversation)


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


@pytest.mark.covers("A5")
async def test_a_listener_that_hangs_has_one_limit_to_finish_after_the_abort() -> None:
    hung = Gate()
    b = bench([Delta("text", 0, "x"), Finished("stop")], settings=RunSettings(abort_listener_limit=0.02))

    async def hang(event: Event) -> None:
        if event.type == "message_update":
            await hung()

    b.agent.subscribe(hang)
    run = b.agent.prompt("Hi")
    await hung.arrival()

    b.agent.abort()
    result = await soon(run, limit=1)

    assert result.stop_reason == "aborted"
    assert "NO listenerTimeout" in b.lines


@pytest.mark.covers("A5", "P2")
async def test_a_question_answered_with_stop_gives_listeners_no_longer_than_an_abort() -> None:
    hung = Gate()
    b = bench(
        asks(call("c1", "echo")),
        tools=[echo_tool()],
        permissions=FakePermissions(),
        approver=FakeUser(STOP),
        settings=RunSettings(abort_listener_limit=0.02),
    )

    async def hang(event: Event) -> None:
        if event.type == "turn_end":
            await hung()

    b.agent.subscribe(hang)

    assert (await soon(b.agent.prompt("Hi"), limit=1)).stop_reason == "aborted"


@pytest.mark.covers("A5")
async def test_after_an_aborted_run_listeners_have_their_full_time_again() -> None:
    stall, slow = Gate(), Gate()
    b = bench([stall], says("ok"), settings=RunSettings(abort_listener_limit=0.02))
    run = b.agent.prompt("Hi")
    await stall.arrival()
    b.agent.abort()
    await soon(run)
    served: list[str] = []

    async def listener(event: Event) -> None:
        if isinstance(event, AgentEnd):
            await slow()
            served.append(event.stop_reason)

    b.agent.subscribe(listener)
    second = b.agent.prompt("again")
    await slow.arrival()
    await asyncio.sleep(0.05)
    slow.open()
    await soon(second)

    assert served == ["completed"]


@pytest.mark.covers("A5")
async def test_a_provider_that_ignores_its_cancellation_holds_nothing_up() -> None:
    stall, release = Gate(), Gate()

    async def stubborn(request: ModelRequest) -> AsyncIterator[StreamEvent]:
        yield Delta("text", 0, "x")
        try:
            await stall()
        except asyncio.CancelledError:
            await release()
        yield Delta("text", 0, "too late")

    b = bench(stubborn, says("next"), settings=RunSettings(close_limit=0.02))
    run = b.agent.prompt("Hi")
    await stall.arrival()

    b.agent.abort()
    result = await soon(run, limit=1)
    release.open()

    assert (result.stop_reason, b.shown) == ("aborted", ["U:Hi", "A:x (aborted)"])
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
