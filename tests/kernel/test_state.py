"""The facts about a run and the moves between its phases (S1 to S3)."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence

import pytest

from pilothouse_agent.kernel.events import CompactionReason, Phase, PhaseChange, RunStop
from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.messages import Message
from pilothouse_agent.kernel.ports import Compaction, ToolContext
from pilothouse_agent.kernel.request import Delta, ModelLimits
from pilothouse_agent.kernel.settings import RunSettings
from pilothouse_agent.kernel.snapshot import AgentStateSnapshot
from pilothouse_agent.kernel.state import State
from pilothouse_agent.kernel.tooling import ToolResult
from support.kernel import Bench, FakeTool, Gate, asks, bench, call, echo_tool, fails, says, soon

PHASES: tuple[Phase, ...] = ("idle", "turn", "compaction", "retry")
LEGAL = {
    ("idle", "turn"),
    ("turn", "idle"),
    ("turn", "compaction"),
    ("compaction", "turn"),
    ("turn", "retry"),
    ("retry", "turn"),
    ("idle", "compaction"),
    ("compaction", "idle"),
    ("retry", "idle"),
}


def state_in(phase: Phase) -> State:
    state = State()
    if phase in ("turn", "retry"):
        state.move("turn", "test")
    if phase not in ("idle", "turn"):
        state.move(phase, "test")
    return state


@pytest.mark.covers("S1")
@pytest.mark.parametrize(("source", "target"), list(itertools.product(PHASES, PHASES)))
def test_only_legal_moves_between_phases_are_made(source: Phase, target: Phase) -> None:
    state = state_in(source)

    if (source, target) in LEGAL:
        assert state.move(target, "why") == PhaseChange(source, target, "why")
        assert state.phase == target
    else:
        with pytest.raises(RuntimeError, match=rf"cannot go from {source} to {target} \(why\)"):
            state.move(target, "why")
        assert state.phase == source


class Once:
    """A compactor for one compaction."""

    def __init__(self) -> None:
        self.done = False

    def due(self, tokens: int, limits: ModelLimits) -> bool:
        return not self.done

    async def compact(
        self, messages: Sequence[Message], limits: ModelLimits, reason: CompactionReason
    ) -> Compaction:
        self.done = True
        return Compaction(tuple(messages), "the same")


@pytest.mark.covers("S1", "S2")
async def test_every_move_is_published_with_its_reason() -> None:
    b = bench([fails("overloaded", retryable=True)], says("ok"), compactor=Once())

    await b.run("Hi")

    assert b.events.phases == [
        ("idle", "turn", "prompt"),
        ("turn", "compaction", "threshold"),
        ("compaction", "turn", "compacted"),
        ("turn", "retry", "overloaded"),
        ("retry", "turn", "retry"),
        ("turn", "idle", "completed"),
    ]


def ending_in(stop: RunStop) -> Bench:
    match stop:
        case "completed":
            return bench(says("ok"))
        case "aborted":
            b = bench([Delta("text", 0, "x"), Gate()])
            b.agent.subscribe(lambda event: None if event.type != "message_update" else aborting(b))
            return b
        case "error":
            return bench([Delta("text", 0, "x"), fails("auth")])
        case "maxTurns":
            return bench(asks(call("c1", "echo")), tools=[echo_tool()], settings=RunSettings(max_turns=1))
        case "length":
            return bench(says("x", stop="length"))
        case "refused":
            return bench(says("x", stop="refusal"))


def aborting(b: Bench) -> None:
    b.agent.abort()


def rest(state: AgentStateSnapshot) -> tuple[object, ...]:
    return (
        state.phase,
        state.run_id,
        state.is_streaming,
        state.streaming_message,
        state.pending_tool_calls,
        state.pending_writes,
    )


AT_REST = ("idle", None, False, None, (), ())


@pytest.mark.covers("S3", "A2", "K13")
@pytest.mark.parametrize("stop", ["completed", "aborted", "error", "maxTurns", "length", "refused"])
async def test_after_any_ending_nothing_is_left_of_the_run(stop: RunStop) -> None:
    b = ending_in(stop)

    result = await b.run("Hi")

    assert (result.stop_reason, rest(b.agent.state)) == (stop, AT_REST)
    assert b.events.phases[-1] == ("turn", "idle", stop)


@pytest.mark.covers("S3", "T7")
async def test_a_write_left_behind_by_an_aborted_run_is_not_listed_any_more() -> None:
    writing, release = Gate(), Gate()

    async def write(arguments: JsonObject, context: ToolContext) -> ToolResult:
        with context.pending_write("/a"):
            try:
                await writing()
            except asyncio.CancelledError:
                await release()
        return ToolResult.text("late")

    settings = RunSettings(grace=0.02, write_limit=0.02)
    b = bench(asks(call("c1", "write")), says("next"), tools=[FakeTool("write", write)], settings=settings)
    run = b.agent.prompt("Hi")
    await writing.arrival()
    assert b.agent.state.pending_writes == ("/a",)

    b.agent.abort()
    await soon(run)
    assert rest(b.agent.state) == AT_REST

    release.open()
    await b.run("again")
    assert rest(b.agent.state) == AT_REST


@pytest.mark.covers("S3")
def test_writes_of_one_file_are_counted_not_just_noted() -> None:
    state = State()

    with state.writing("/a"):
        with state.writing("/a"), state.writing("/b"):
            assert state.pending_writes == ("/a", "/b")
        assert state.pending_writes == ("/a",)
    assert state.pending_writes == ()


@pytest.mark.covers("S3")
def test_a_write_that_outlives_its_run_counts_for_no_other() -> None:
    state = state_in("turn")
    outliving = state.writing("/a")

    with outliving:
        state.move("idle", "aborted")
        assert state.pending_writes == ()
        with state.writing("/a"):
            assert state.pending_writes == ("/a",)
    assert state.pending_writes == ()


@pytest.mark.covers("K92")
async def test_a_snapshot_lists_the_facts_of_its_moment() -> None:
    gate = Gate()
    b = bench([Delta("text", 0, "par"), gate], tools=[echo_tool()])
    b.agent.set_system_prompt("Be brief.")
    b.agent.set_thinking("low")
    b.agent.set_queue_mode("followUp", "all")
    run = b.agent.prompt("Hi")
    await gate.arrival()
    b.agent.steer("S")
    b.agent.follow_up("F")

    state = b.agent.state

    assert (state.phase, state.run_id, state.turn) == ("turn", run.run_id, 1)
    assert (state.model, state.thinking, state.tools, state.system_prompt) == (
        "m",
        "low",
        ("echo",),
        "Be brief.",
    )
    assert (state.steering_mode, state.follow_up_mode) == ("one", "all")
    assert [item.queue_id for item in (*state.steering, *state.follow_up)] == ["queue1", "queue2"]
    assert state.streaming_message is not None
    assert len(state.streaming_message.content) == 1
    b.agent.abort()
    await soon(run)
    assert (len(state.messages), len(b.agent.state.messages)) == (1, 2)
