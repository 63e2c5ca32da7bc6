"""What an abort does to the calls of a batch: those that wait, run, write, or do not listen (T7, T8, F4)."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from pilothouse_agent.kernel.events import Event, Notice, ToolExecutionEnd, ToolExecutionUpdate
from pilothouse_agent.kernel.hooks import FinishedCall, Hooks, ResultPatch
from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.messages import ToolCall
from pilothouse_agent.kernel.ports import ToolContext
from pilothouse_agent.kernel.settings import RunSettings
from pilothouse_agent.kernel.tooling import ToolError, ToolResult
from support.footprints import EVERYTHING, turns_of_the_loop
from support.kernel import FakeTool, Gate, asks, bench, block, call, echo_tool, says, soon

RAN = "Aborted while it was running."
NOT_RUN = "Aborted: the call did not run."
LEFT_BEHIND = "Aborted: it did not stop in time, and what it does from now on is not known."
UNKNOWN = "Aborted during a write whose outcome is unknown. Read the file before changing it again."


class Worker:
    """A tool whose body stops at `gate`. A deaf one goes on waiting there when it is cancelled."""

    def __init__(self, name: str = "work", *, deaf: bool = False) -> None:
        self.gate = Gate()
        self.cancelled = asyncio.Event()
        self.context: ToolContext | None = None
        self._deaf = deaf
        self.tool = FakeTool(name, self._body)

    async def _body(self, arguments: JsonObject, context: ToolContext) -> ToolResult:
        self.context = context
        await self._wait()
        context.progress("late words")
        return ToolResult.text("finished after all")

    async def _wait(self) -> None:
        while True:
            try:
                return await self.gate()
            except asyncio.CancelledError:
                self.cancelled.set()
                if not self._deaf:
                    raise


class Writer(Worker):
    """A tool that is stopped while it writes; nothing but a cancellation ends it before the gate opens."""

    def __init__(self, name: str = "write") -> None:
        super().__init__(name)
        self.steps: list[str] = []

    async def _body(self, arguments: JsonObject, context: ToolContext) -> ToolResult:
        with context.pending_write("/a"), context.committing():
            await self._wait()
            self.steps.append("written")
        return ToolResult.text("Wrote /a.")


@pytest.mark.covers("T8", "A5", "K60")
async def test_a_body_that_honours_the_abort_gets_an_error_result_and_nothing_is_sent() -> None:
    work = Worker()
    b = bench(asks(call("c1", "work")), says("never"), tools=[work.tool])
    run = b.agent.prompt("Hi")
    await work.gate.arrival()

    b.agent.abort()
    result = await soon(run)

    assert (result.stop_reason, len(b.model.requests)) == ("aborted", 1)
    assert b.shown == ["U:Hi", "A: [c1]", f"R c1:{RAN}!"]
    assert b.events.turns[-5:] == ["XS c1", "XE c1 aborted", "ME(R,c1 error)", "TE1", "AE aborted"]


@pytest.mark.covers("T8", "K61")
async def test_calls_that_wait_for_the_aborted_one_do_not_run_and_no_hook_follows() -> None:
    work, finished = Worker(), list[str]()
    work.tool.footprint = EVERYTHING

    async def after(done: FinishedCall) -> None:
        finished.append(done.call.id)

    echo = echo_tool(footprint=EVERYTHING)
    b = bench(
        asks(call("c1", "work"), call("c2", "echo"), call("c3", "echo")),
        tools=[work.tool, echo],
        hooks=Hooks(after_tool_result=(after,)),
    )
    run = b.agent.prompt("Hi")
    await work.gate.arrival()

    b.agent.abort()
    await soon(run)

    assert b.shown[2:] == [f"R c1:{RAN}!", f"R c2:{NOT_RUN}!", f"R c3:{NOT_RUN}!"]
    assert (echo.ran, finished) == ([], [])


@pytest.mark.covers("T8")
async def test_calls_that_wait_for_a_free_place_do_not_run() -> None:
    work, echo = Worker(), echo_tool()
    b = bench(
        asks(call("c1", "work"), call("c2", "echo")),
        tools=[work.tool, echo],
        settings=RunSettings(parallel=1),
    )
    run = b.agent.prompt("Hi")
    await work.gate.arrival()

    b.agent.abort()
    await soon(run)

    assert (b.shown[2:], echo.ran) == ([f"R c1:{RAN}!", f"R c2:{NOT_RUN}!"], [])


@pytest.mark.covers("T8", "A5", "K62")
async def test_an_abort_inside_a_before_hook_ends_it_and_its_call_does_not_run() -> None:
    hook, seen, echo = Gate(), list[str](), echo_tool()

    async def before(call: ToolCall, signal: object) -> None:
        seen.append(call.id)
        await hook()

    b = bench(
        asks(call("c1", "echo"), call("c2", "echo")), tools=[echo], hooks=Hooks(before_tool_call=(before,))
    )
    run = b.agent.prompt("Hi")
    await hook.arrival()

    b.agent.abort()
    await soon(run)

    assert b.shown[2:] == [f"R c1:{NOT_RUN}!", f"R c2:{NOT_RUN}!"]
    assert (echo.ran, seen) == ([], ["c1"])


@pytest.mark.covers("T7", "T8", "K64")
async def test_the_result_of_a_body_that_ends_within_the_grace_is_kept_and_nothing_is_sent() -> None:
    work = Worker(deaf=True)
    b = bench(asks(call("c1", "work")), says("never"), tools=[work.tool])
    run = b.agent.prompt("Hi")
    await work.gate.arrival()

    b.agent.abort()
    await soon(work.cancelled.wait())
    work.gate.open()
    result = await soon(run)

    assert (result.stop_reason, len(b.model.requests)) == ("aborted", 1)
    assert b.shown[2:] == ["R c1:finished after all"]


@pytest.mark.covers("T7", "T4", "S3", "K65", "R112", "R115")
async def test_a_body_that_does_not_stop_is_left_behind_after_the_grace_and_never_heard_of_again() -> None:
    work = Worker(deaf=True)
    b = bench(
        asks(call("c1", "work"), call("c2", "echo")),
        says("fine"),
        tools=[work.tool, echo_tool()],
        settings=RunSettings(grace=0.01),
    )
    run = b.agent.prompt("Hi")
    await work.gate.arrival()

    b.agent.abort()
    result = await soon(run)
    events_at_the_end = len(b.events.events)
    work.gate.open()
    await turns_of_the_loop(10)

    assert (result.stop_reason, b.shown[2:]) == ("aborted", [f"R c1:{LEFT_BEHIND}!", "R c2:ok"])
    assert [notice.code for notice in b.events.of(Notice)] == ["abortIgnored"]
    assert len(b.events.events) == events_at_the_end
    assert (await b.run("Go on")).text == "fine"


@pytest.mark.covers("T7", "S3")
async def test_a_body_left_behind_lists_no_write_any_more() -> None:
    work = Worker(deaf=True)

    async def body(arguments: JsonObject, context: ToolContext) -> ToolResult:
        with context.pending_write("/a"):
            await work.tool.body(arguments, context)
        with context.pending_write("/b"):
            listed.append(b.agent.state.pending_writes)
        return ToolResult.text("ok")

    listed: list[tuple[str, ...]] = []
    b = bench(asks(call("c1", "slow")), tools=[FakeTool("slow", body)], settings=RunSettings(grace=0.01))
    run = b.agent.prompt("Hi")
    await work.gate.arrival()
    listed.append(b.agent.state.pending_writes)

    b.agent.abort()
    await soon(run)
    listed.append(b.agent.state.pending_writes)
    work.gate.open()
    await turns_of_the_loop(10)

    assert listed == [("/a",), (), ()]
    assert b.agent.state.pending_writes == ()


@pytest.mark.covers("T7", "F4", "S3", "K104")
async def test_a_write_in_flight_outlasts_the_grace_and_its_result_says_what_happened() -> None:
    write, deaf = Writer(), Worker(deaf=True)
    b = bench(
        asks(call("c1", "write"), call("c2", "work")),
        tools=[write.tool, deaf.tool],
        settings=RunSettings(grace=0.01),
    )
    grace_over = Gate()
    b.agent.subscribe(lambda event: grace_over.reached.set() if isinstance(event, ToolExecutionEnd) else None)
    run = b.agent.prompt("Hi")
    await write.gate.arrival()
    await deaf.gate.arrival()

    b.agent.abort()
    await grace_over.arrival()
    in_flight = (write.cancelled.is_set(), list(write.steps), b.agent.state.pending_writes)
    write.gate.open()
    await soon(run)
    deaf.gate.open()

    assert in_flight == (False, [], ("/a",))
    assert b.shown[2:] == ["R c1:Wrote /a.", f"R c2:{LEFT_BEHIND}!"]
    assert [line for line in b.lines if line.startswith("XE")] == ["XE c2 aborted", "XE c1 ok"]
    assert (write.steps, b.agent.state.pending_writes) == (["written"], ())


@pytest.mark.covers("T7", "F4", "S3")
async def test_a_write_over_its_limit_ends_as_unknown_and_gives_its_place_free() -> None:
    write = Writer()
    b = bench(
        asks(call("c1", "write")),
        tools=[write.tool],
        settings=RunSettings(grace=0.005, write_limit=0.01),
    )
    run = b.agent.prompt("Hi")
    await write.gate.arrival()

    b.agent.abort()
    await soon(run)
    await soon(write.cancelled.wait())

    assert (b.shown[2:], write.steps) == ([f"R c1:{UNKNOWN}!"], [])
    assert [notice.code for notice in b.events.of(Notice)] == ["abortIgnored"]
    assert b.agent.state.pending_writes == ()


@pytest.mark.covers("F4", "K105")
async def test_a_write_that_was_still_waiting_at_the_abort_is_never_made() -> None:
    turn, steps = Gate(), list[str]()

    async def body(arguments: JsonObject, context: ToolContext) -> ToolResult:
        with context.pending_write("/a"):
            try:
                await turn()
            except asyncio.CancelledError:
                steps.append("cancelled")
            with context.committing():
                steps.append("written")
        return ToolResult.text("Wrote /a.")

    b = bench(asks(call("c1", "write")), tools=[FakeTool("write", body)])
    run = b.agent.prompt("Hi")
    await turn.arrival()

    b.agent.abort()
    await soon(run)

    assert (b.shown[2:], steps) == ([f"R c1:{RAN}!"], ["cancelled"])


@pytest.mark.covers("F4")
async def test_a_body_stays_in_flight_until_the_last_of_its_writes_is_over() -> None:
    inner, cancelled = Gate(), list[str]()

    async def body(arguments: JsonObject, context: ToolContext) -> ToolResult:
        with context.committing():
            with context.committing():
                pass
            try:
                await inner()
            except asyncio.CancelledError:
                cancelled.append("in flight")
        return ToolResult.text("Moved.")

    b = bench(asks(call("c1", "move")), tools=[FakeTool("move", body)])
    run = b.agent.prompt("Hi")
    await inner.arrival()

    b.agent.abort()
    await turns_of_the_loop(5)
    inner.open()
    await soon(run)

    assert (b.shown[2:], cancelled) == (["R c1:Moved."], [])


@pytest.mark.covers("F4", "T8")
async def test_an_abort_during_the_after_hook_keeps_what_the_body_has_done() -> None:
    hook = Gate()

    async def after(done: FinishedCall) -> ResultPatch:
        await hook()
        return ResultPatch(content=block("patched"))

    b = bench(asks(call("c1", "echo")), tools=[echo_tool()], hooks=Hooks(after_tool_result=(after,)))
    run = b.agent.prompt("Hi")
    await hook.arrival()

    b.agent.abort()
    await soon(run)

    assert (b.shown[2:], b.lines[-6]) == (["R c1:ok"], "XE c1 ok")


@pytest.mark.covers("A5")
async def test_a_slow_listener_does_not_hold_up_the_cancellation_of_a_body() -> None:
    work, listening = Worker(), Gate()

    async def body(arguments: JsonObject, context: ToolContext) -> ToolResult:
        context.progress("working")
        return ToolResult.text("")

    async def listener(event: Event) -> None:
        if isinstance(event, ToolExecutionUpdate):
            await listening()

    b = bench(asks(call("c1", "work"), call("c2", "talk")), tools=[work.tool, FakeTool("talk", body)])
    b.agent.subscribe(listener)
    run = b.agent.prompt("Hi")
    await work.gate.arrival()
    await listening.arrival()

    b.agent.abort()
    await turns_of_the_loop(3)
    cancelled_meanwhile = work.cancelled.is_set()
    listening.open()
    await soon(run)

    assert cancelled_meanwhile


@pytest.mark.covers("F4")
async def test_what_a_tool_says_of_its_own_abort_is_told() -> None:
    gate = Gate()

    async def body(arguments: JsonObject, context: ToolContext) -> ToolResult:
        try:
            await gate()
        except asyncio.CancelledError:
            raise ToolError("Stopped after 2 of 3 files.") from None
        return ToolResult.text("")

    b = bench(asks(call("c1", "work")), tools=[FakeTool("work", body)])
    run = b.agent.prompt("Hi")
    await gate.arrival()

    b.agent.abort()
    await soon(run)

    assert b.shown[2:] == ["R c1:Stopped after 2 of 3 files.!"]
    assert [event.outcome for event in b.events.of(ToolExecutionEnd)] == ["aborted"]


@pytest.mark.covers("A5", "T8")
async def test_a_tool_may_abort_the_run_it_belongs_to() -> None:
    async def body(arguments: JsonObject, context: ToolContext) -> ToolResult:
        b.agent.abort()
        await asyncio.Event().wait()
        return ToolResult.text("")

    b = bench(asks(call("c1", "quit"), call("c2", "quit")), tools=[FakeTool("quit", body)])

    result = await b.run("Hi")

    assert (result.stop_reason, b.shown[2:]) == ("aborted", [f"R c1:{RAN}!", f"R c2:{NOT_RUN}!"])


@pytest.mark.covers("R221", "F4", "T7")
async def test_a_body_is_cancelled_as_soon_as_the_write_is_known_that_was_in_flight() -> None:
    writing, after = Gate(), list[str]()

    async def body(arguments: JsonObject, context: ToolContext) -> ToolResult:
        with context.pending_write("/a"), context.committing():
            await writing()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            after.append("cancelled")
            raise
        return ToolResult.text("never")

    b = bench(asks(call("c1", "write")), tools=[FakeTool("write", body)])
    run = b.agent.prompt("Hi")
    await writing.arrival()

    b.agent.abort()
    await turns_of_the_loop(5)
    assert after == []
    writing.open()
    await soon(run)

    assert (after, b.events.of(Notice)) == (["cancelled"], [])
    assert b.shown[2] == f"R c1:{RAN} By then it had changed /a.!"


@pytest.mark.covers("R221", "F4")
async def test_a_write_that_failed_is_not_told_as_a_change() -> None:
    writing = Gate()

    async def body(arguments: JsonObject, context: ToolContext) -> ToolResult:
        with suppress(OSError), context.pending_write("/a"), context.committing():
            await writing()
            raise OSError("disk full")
        await asyncio.Event().wait()
        return ToolResult.text("never")

    b = bench(asks(call("c1", "write")), tools=[FakeTool("write", body)])
    run = b.agent.prompt("Hi")
    await writing.arrival()

    b.agent.abort()
    writing.open()
    await soon(run)

    assert b.shown[2] == f"R c1:{RAN}!"


@pytest.mark.covers("R221", "T7")
async def test_a_deaf_body_has_its_grace_from_where_its_write_is_known() -> None:
    writing, deaf = Gate(), Worker(deaf=True)

    async def body(arguments: JsonObject, context: ToolContext) -> object:
        with context.committing():
            await writing()
        return await deaf.tool.body(arguments, context)

    settings = RunSettings(grace=0.01, write_limit=600)
    b = bench(asks(call("c1", "write")), tools=[FakeTool("write", body)], settings=settings)
    run = b.agent.prompt("Hi")
    await writing.arrival()

    b.agent.abort()
    writing.open()
    await soon(run)
    deaf.gate.open()

    assert b.shown[2] == f"R c1:{LEFT_BEHIND}!"


@pytest.mark.covers("T7")
async def test_a_body_that_does_not_write_is_given_the_grace_whatever_a_write_is_given() -> None:
    deaf = Worker(deaf=True)
    settings = RunSettings(grace=0.01, write_limit=600)
    b = bench(asks(call("c1", "work")), tools=[deaf.tool], settings=settings)
    run = b.agent.prompt("Hi")
    await deaf.gate.arrival()

    b.agent.abort()
    await soon(run)
    deaf.gate.open()

    assert b.shown[2] == f"R c1:{LEFT_BEHIND}!"


@pytest.mark.covers("T7", "F4")
async def test_a_write_is_given_its_own_limit_however_long_the_grace_is() -> None:
    write = Writer()
    settings = RunSettings(grace=600, write_limit=0.01)
    b = bench(asks(call("c1", "write")), tools=[write.tool], settings=settings)
    run = b.agent.prompt("Hi")
    await write.gate.arrival()

    b.agent.abort()
    await soon(run)
    await soon(write.cancelled.wait())

    assert b.shown[2] == f"R c1:{UNKNOWN}!"


@pytest.mark.covers("F4", "T8")
async def test_a_body_that_aborts_and_ends_in_one_step_has_its_result_told() -> None:
    async def body(arguments: JsonObject, context: ToolContext) -> ToolResult:
        b.agent.abort()
        return ToolResult.text("Done all the same.")

    b = bench(asks(call("c1", "quit")), tools=[FakeTool("quit", body)])

    assert (await b.run("Hi")).stop_reason == "aborted"
    assert b.shown[2] == "R c1:Done all the same."
