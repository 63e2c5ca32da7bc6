"""Progress of a call: in order, before its end, and never after it (T4)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable

import pytest

from pilothouse_agent.kernel.events import Event, ToolExecutionEnd, ToolExecutionStart, ToolExecutionUpdate
from pilothouse_agent.kernel.hooks import FinishedCall, Hooks
from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.ports import ToolContext
from pilothouse_agent.kernel.tooling import ToolResult
from support.footprints import turns_of_the_loop
from support.kernel import Bench, FakeTool, Gate, asks, bench, call, says, soon


def one_call(tell: Callable[[ToolContext], Awaitable[None]], *, hooks: Hooks | None = None) -> Bench:
    async def body(arguments: JsonObject, context: ToolContext) -> ToolResult:
        await tell(context)
        return ToolResult.text("ok")

    return bench(asks(call("c1", "tool")), says("done"), tools=[FakeTool("tool", body)], hooks=hooks)


def told(b: Bench) -> str:
    """All progress, if it stands between the call's start and end."""
    of_tools = [line for line in b.lines if line.startswith("X")]
    assert (of_tools[0], of_tools[-1]) == ("XS c1", "XE c1 ok")
    updates = b.events.of(ToolExecutionUpdate)
    assert len(of_tools) == len(updates) + 2
    assert {update.dropped for update in updates} <= {0}
    return "".join(update.text for update in updates)


@pytest.mark.covers("T4", "K23")
async def test_slow_listeners_get_all_progress_in_order_and_before_the_end() -> None:
    async def tell(context: ToolContext) -> None:
        for word in ("a", "b", "c", "d", "e"):
            context.progress(word)
            await turns_of_the_loop(1)

    async def listener(event: Event) -> None:
        if isinstance(event, ToolExecutionStart | ToolExecutionUpdate | ToolExecutionEnd):
            await turns_of_the_loop(3)

    b = one_call(tell)
    b.agent.subscribe(listener)

    await b.run("Hi")

    assert told(b) == "abcde"


@pytest.mark.covers("T4", "K23")
async def test_progress_is_seen_while_the_body_runs() -> None:
    heard = Gate()

    async def tell(context: ToolContext) -> None:
        context.progress("half-way")
        await soon(heard())

    b = one_call(tell)
    b.agent.subscribe(lambda event: heard.open() if isinstance(event, ToolExecutionUpdate) else None)

    await b.run("Hi")

    assert told(b) == "half-way"


@pytest.mark.covers("T4", "K24")
async def test_progress_after_the_body_has_returned_is_dropped() -> None:
    kept: list[ToolContext] = []

    async def tell(context: ToolContext) -> None:
        kept.append(context)
        context.progress("in time")

    async def speak_in_the_hook(finished: FinishedCall) -> None:
        kept[0].progress("too late")
        await turns_of_the_loop(3)

    b = one_call(tell, hooks=Hooks(after_tool_result=(speak_in_the_hook,)))

    await b.run("Hi")
    kept[0].progress("much too late")
    await turns_of_the_loop(3)

    assert told(b) == "in time"


@pytest.mark.covers("T4", "K25")
async def test_progress_from_another_thread_arrives_in_order() -> None:
    async def tell(context: ToolContext) -> None:
        def work() -> None:
            for number in range(100):
                context.progress(f"{number},")

        await asyncio.to_thread(work)

    b = one_call(tell)

    await b.run("Hi")

    assert told(b) == "".join(f"{number}," for number in range(100))


@pytest.mark.covers("T4", "K24", "K25")
async def test_progress_from_another_thread_after_the_end_is_dropped() -> None:
    go, spoken = threading.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    threads: list[threading.Thread] = []

    async def tell(context: ToolContext) -> None:
        def work() -> None:
            go.wait(5)
            context.progress("too late")
            loop.call_soon_threadsafe(spoken.set)

        threads.append(threading.Thread(target=work))
        threads[0].start()

    b = one_call(tell)

    await b.run("Hi")
    go.set()
    await soon(spoken.wait())
    await asyncio.to_thread(threads[0].join, 5)

    assert told(b) == ""


@pytest.mark.covers("T4")
async def test_what_a_slow_listener_cannot_take_is_dropped_from_the_front_and_counted_in_bytes() -> None:
    async def tell(context: ToolContext) -> None:
        for _ in range(5):
            context.progress("ä" * 32 * 1024)
        context.progress("end")

    b = one_call(tell)

    await b.run("Hi")

    (update,) = b.events.of(ToolExecutionUpdate)
    kept = 64 * 1024
    assert (len(update.text), update.text[-4:]) == (kept, "äend")
    assert update.dropped == 2 * (5 * 32 * 1024 + 3 - kept)
