"""Whatever a run waits for when it is aborted, the wait ends at once (A5)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence

import pytest

from pilothouse_agent.kernel.abort import AbortSignal
from pilothouse_agent.kernel.events import (
    AgentEnd,
    CompactionReason,
    Event,
)
from pilothouse_agent.kernel.hooks import BlockCall, Hooks, StopRun
from pilothouse_agent.kernel.messages import Message, ToolCall, UserMessage
from pilothouse_agent.kernel.ports import Compaction
from pilothouse_agent.kernel.request import Delta, Finished, ModelLimits, ModelRequest, StreamEvent
from pilothouse_agent.kernel.settings import RunSettings
from pilothouse_agent.kernel.snapshot import AgentStateSnapshot
from support.kernel import (
    FakeClock,
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
