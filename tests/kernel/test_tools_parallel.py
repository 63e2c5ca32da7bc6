"""Bodies run together where they cannot notice each other, and as if serial where they can (T1 to T3)."""

from __future__ import annotations

import asyncio

import pytest

from pilothouse_agent.kernel.events import Event, ToolExecutionEnd, ToolExecutionUpdate
from pilothouse_agent.kernel.hooks import Hooks
from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.messages import ToolCall
from pilothouse_agent.kernel.ports import ToolContext
from pilothouse_agent.kernel.settings import RunSettings
from pilothouse_agent.kernel.tooling import Footprint, ToolResult
from support.footprints import (
    EVERYTHING,
    NOTHING,
    READS_EVERYTHING,
    BodyLog,
    changes,
    looks_at,
    turns_of_the_loop,
)
from support.kernel import FakeTool, Gate, asks, bench, call, echo_tool, says, soon


def meeting_tool(meeting: asyncio.Barrier, name: str, footprint: Footprint) -> FakeTool:
    """Ends only when as many bodies as the barrier asks for are under way at once."""

    async def body(arguments: JsonObject, context: ToolContext) -> ToolResult:
        await soon(meeting.wait())
        return ToolResult.text("met")

    return FakeTool(name, body, footprint=footprint)


@pytest.mark.covers("T2", "K18")
async def test_calls_that_touch_nothing_run_together() -> None:
    meet = meeting_tool(asyncio.Barrier(2), "meet", NOTHING)
    b = bench(asks(call("c1", "meet"), call("c2", "meet")), says("done"), tools=[meet])

    await b.run("Hi")

    assert b.shown == ["U:Hi", "A: [c1] [c2]", "R c1:met", "R c2:met", "A:done"]


@pytest.mark.covers("T2")
async def test_reads_and_commands_that_only_read_run_together() -> None:
    meeting = asyncio.Barrier(4)
    footprints = [looks_at("/a"), looks_at("/", subtree=True), READS_EVERYTHING, READS_EVERYTHING]
    tools = [meeting_tool(meeting, f"look{i}", footprint) for i, footprint in enumerate(footprints)]
    b = bench(asks(*(call(f"c{i}", f"look{i}") for i in range(4))), says("done"), tools=tools)

    await b.run("Hi")

    assert b.shown[2:-1] == ["R c0:met", "R c1:met", "R c2:met", "R c3:met"]


@pytest.mark.covers("T2")
async def test_changes_of_different_files_run_together() -> None:
    meeting = asyncio.Barrier(2)
    tools = [
        meeting_tool(meeting, "a", changes("/src/a")),
        meeting_tool(meeting, "b", changes("/src/b")),
    ]
    b = bench(asks(call("c1", "a"), call("c2", "b")), says("done"), tools=tools)

    await b.run("Hi")

    assert b.shown[2:-1] == ["R c1:met", "R c2:met"]


@pytest.mark.covers("T2", "K16")
async def test_of_two_calls_that_touch_everything_the_first_ends_before_the_second_begins() -> None:
    log = BodyLog()
    tools = [log.tool("one", EVERYTHING), log.tool("two", EVERYTHING)]
    b = bench(asks(call("c1", "one"), call("c2", "two")), says("done"), tools=tools)

    await b.run("Hi")

    assert log.lines == ["one begins", "one ends", "two begins", "two ends"]


@pytest.mark.covers("T2", "K17")
@pytest.mark.parametrize("place", [0, 1, 2])
async def test_a_call_that_touches_everything_overlaps_with_no_other(place: int) -> None:
    log = BodyLog()
    tools = [log.tool("read", looks_at("/a")), log.tool("change", changes("/b"))]
    tools.insert(place, log.tool("everything", EVERYTHING))
    b = bench(asks(*(call(tool.spec.name, tool.spec.name) for tool in tools)), says("done"), tools=tools)

    await b.run("Hi")

    assert log.alone("everything")


@pytest.mark.covers("T2")
async def test_a_call_waits_for_one_it_conflicts_with_but_not_for_the_others() -> None:
    held = Gate()

    async def hold(arguments: JsonObject, context: ToolContext) -> ToolResult:
        await held()
        return ToolResult.text("a changed")

    async def free(arguments: JsonObject, context: ToolContext) -> ToolResult:
        held.open()
        return ToolResult.text("b changed")

    change_a = FakeTool("change_a", hold, footprint=changes("/a"))
    read_a = echo_tool("read_a", footprint=looks_at("/a"))
    change_b = FakeTool("change_b", free, footprint=changes("/b"))
    b = bench(
        asks(call("c1", "change_a"), call("c2", "read_a"), call("c3", "change_b")),
        says("done"),
        tools=[change_a, read_a, change_b],
    )

    await b.run("Hi")

    ends = [event.tool_call_id for event in b.events.of(ToolExecutionEnd)]
    assert ends == ["c3", "c1", "c2"]


@pytest.mark.covers("T3", "E3", "K15")
async def test_ends_come_as_bodies_complete_and_results_in_call_order() -> None:
    second_over = Gate()

    async def slow(arguments: JsonObject, context: ToolContext) -> ToolResult:
        await second_over()
        return ToolResult.text("slow")

    b = bench(
        asks(call("c1", "slow"), call("c2", "echo")),
        says("done"),
        tools=[FakeTool("slow", slow), echo_tool()],
    )
    b.agent.subscribe(lambda event: second_over.open() if isinstance(event, ToolExecutionEnd) else None)

    await b.run("Hi")

    assert b.events.turns == [
        "TS1",
        "ME(U,Hi)",
        "ME(A,toolUse)",
        "XS c1",
        "XS c2",
        "XE c2 ok",
        "XE c1 ok",
        "ME(R,c1 ok)",
        "ME(R,c2 ok)",
        "TE1",
        "TS2",
        "ME(A,stop)",
        "TE2",
        "AE completed",
    ]


@pytest.mark.covers("T3")
async def test_the_order_of_completion_is_kept_when_a_listener_is_slow() -> None:
    listening, both_over = Gate(), asyncio.Event()
    spoken = asyncio.Event()

    async def talkative(arguments: JsonObject, context: ToolContext) -> ToolResult:
        context.progress("first words")
        await listening.reached.wait()
        context.progress("last words")
        spoken.set()
        await turns_of_the_loop(5)
        both_over.set()
        return ToolResult.text("ok")

    async def quiet(arguments: JsonObject, context: ToolContext) -> ToolResult:
        await spoken.wait()
        return ToolResult.text("ok")

    async def listener(event: Event) -> None:
        if isinstance(event, ToolExecutionUpdate) and not both_over.is_set():
            await listening()

    b = bench(
        asks(call("c1", "talkative"), call("c2", "quiet")),
        says("done"),
        tools=[FakeTool("talkative", talkative), FakeTool("quiet", quiet)],
    )
    b.agent.subscribe(listener)
    run = b.agent.prompt("Hi")
    await soon(both_over.wait())
    await turns_of_the_loop(5)
    listening.open()
    await soon(run)

    of_tools = [line for line in b.lines if line.startswith("X")]
    assert of_tools == ["XS c1", "XS c2", "XU c1:first words", "XU c1:last words", "XE c2 ok", "XE c1 ok"]


@pytest.mark.covers("T1", "K19")
async def test_no_body_begins_before_the_whole_batch_is_prepared() -> None:
    echo, hook = echo_tool(), Gate()

    async def before(call: ToolCall, signal: object) -> None:
        if call.id == "c2":
            await hook()

    b = bench(
        asks(call("c1", "echo"), call("c2", "echo")),
        says("done"),
        tools=[echo],
        hooks=Hooks(before_tool_call=(before,)),
    )
    run = b.agent.prompt("Hi")
    await hook.arrival()
    await turns_of_the_loop(10)
    ran_at_the_hook = list(echo.ran)
    hook.open()
    await soon(run)

    assert (ran_at_the_hook, len(echo.ran)) == ([], 2)


@pytest.mark.covers("T1")
async def test_calls_are_prepared_one_after_another_in_call_order() -> None:
    log: list[str] = []

    async def before(call: ToolCall, signal: object) -> None:
        log.append(f"{call.id} begins")
        await turns_of_the_loop(3)
        log.append(f"{call.id} ends")

    b = bench(
        asks(call("c1", "echo"), call("c2", "echo")),
        says("done"),
        tools=[echo_tool()],
        hooks=Hooks(before_tool_call=(before,)),
    )

    await b.run("Hi")

    assert log == ["c1 begins", "c1 ends", "c2 begins", "c2 ends"]


@pytest.mark.covers("T2", "T3", "K21", "K22")
@pytest.mark.parametrize(("settings", "most"), [(RunSettings(), 8), (RunSettings(parallel=3), 3)])
async def test_of_fifty_calls_only_so_many_bodies_run_at_once(settings: RunSettings, most: int) -> None:
    running: set[str] = set()
    crowds: list[int] = []
    pending: list[int] = []

    async def body(arguments: JsonObject, context: ToolContext) -> ToolResult:
        running.add(context.call_id)
        await turns_of_the_loop(3)
        crowds.append(len(running))
        pending.append(len(b.agent.state.pending_tool_calls))
        running.remove(context.call_id)
        return ToolResult.text(context.call_id)

    calls = [call(f"c{i}", "crowd") for i in range(50)]
    b = bench(asks(*calls), says("done"), tools=[FakeTool("crowd", body)], settings=settings)

    await b.run("Hi")

    assert (max(crowds), max(pending), b.agent.state.pending_tool_calls) == (most, 50, ())
    assert b.shown[2:-1] == [f"R c{i}:c{i}" for i in range(50)]
