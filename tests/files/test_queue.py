"""The write queue: who waits for whom, and that nobody waits for ever."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from pilothouse_agent.files.queue import WriteQueue
from pilothouse_agent.kernel.abort import Aborted, AbortSignal


def paths(*names: str) -> Callable[[], Sequence[str]]:
    return lambda: [f"/ws/{name}" for name in names]


class Line:
    """Requests that log their turn and hold it until they are let go."""

    def __init__(self, queue: WriteQueue) -> None:
        self.queue = queue
        self.log: list[str] = []
        self.let_go = asyncio.Event()
        self._begun: dict[str, asyncio.Event] = {}

    def request(
        self, name: str, resolve: Callable[[], Sequence[str]], signal: AbortSignal | None = None
    ) -> asyncio.Task[None]:
        self._begun[name] = asyncio.Event()
        return asyncio.create_task(self._hold(name, resolve, signal or AbortSignal()))

    async def begun(self, name: str) -> None:
        await asyncio.wait_for(self._begun[name].wait(), 5)

    async def _hold(self, name: str, resolve: Callable[[], Sequence[str]], signal: AbortSignal) -> None:
        async with self.queue.turn(resolve, signal=signal):
            self.log.append(name)
            self._begun[name].set()
            await self.let_go.wait()


async def all_done(*tasks: asyncio.Task[None]) -> list[BaseException | None]:
    return await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 5)


@pytest.mark.covers("F1", "R032")
async def test_turns_come_in_the_order_of_request(queue: WriteQueue) -> None:
    line = Line(queue)
    tasks = [line.request(str(number), paths("a")) for number in range(5)]
    line.let_go.set()
    await all_done(*tasks)
    assert line.log == ["0", "1", "2", "3", "4"]


@pytest.mark.covers("F1")
async def test_a_path_that_is_slow_to_resolve_is_not_overtaken(queue: WriteQueue) -> None:
    line = Line(queue)
    looking, found = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def slowly() -> Sequence[str]:
        loop.call_soon_threadsafe(looking.set)
        asyncio.run_coroutine_threadsafe(found.wait(), loop).result(5)
        return ["/ws/a"]

    first, second = line.request("slow", slowly), line.request("quick", paths("a"))
    await asyncio.wait_for(looking.wait(), 5)
    found.set()
    line.let_go.set()
    await all_done(first, second)
    assert line.log == ["slow", "quick"]


@pytest.mark.covers("F1", "K101")
async def test_other_files_are_not_held_up(queue: WriteQueue) -> None:
    line = Line(queue)
    first = line.request("a", paths("a"))
    await line.begun("a")
    other = line.request("b", paths("b"))
    await line.begun("b")
    line.let_go.set()
    assert await all_done(first, other) == [None, None]


@pytest.mark.covers("F1")
async def test_requests_for_two_files_never_wait_in_a_circle(queue: WriteQueue) -> None:
    line = Line(queue)
    tasks = [line.request(f"{n}", paths(*pair)) for n, pair in enumerate([("a", "b"), ("b", "a")] * 4)]
    line.let_go.set()
    await all_done(*tasks)
    assert line.log == [str(number) for number in range(8)]


@pytest.mark.covers("F1")
async def test_both_files_of_a_request_are_held(queue: WriteQueue) -> None:
    line = Line(queue)
    both = line.request("both", paths("b", "a"))
    await line.begun("both")
    waiting = [line.request("a", paths("a")), line.request("b", paths("b"))]
    other = line.request("c", paths("c"))
    await line.begun("c")
    assert line.log == ["both", "c"]
    line.let_go.set()
    await all_done(both, *waiting, other)


@pytest.mark.covers("F1", "K105", "R032")
async def test_an_aborted_waiter_never_has_its_turn_and_the_next_one_has(queue: WriteQueue) -> None:
    line, signal = Line(queue), AbortSignal()
    holder = line.request("holder", paths("a"))
    await line.begun("holder")
    aborted, behind = line.request("aborted", paths("a"), signal), line.request("behind", paths("a"))
    other = line.request("other", paths("b"))
    await line.begun("other")
    signal.set()
    line.let_go.set()
    ends = await all_done(holder, aborted, behind, other)
    assert [type(end) for end in ends] == [type(None), Aborted, type(None), type(None)]
    assert line.log == ["holder", "other", "behind"]
    assert len(queue) == 0


@pytest.mark.covers("F1")
async def test_a_cancelled_waiter_leaves_no_trace(queue: WriteQueue) -> None:
    line = Line(queue)
    holder = line.request("holder", paths("a"))
    await line.begun("holder")
    waiting = line.request("cancelled", paths("a", "b"))
    other = line.request("other", paths("c"))
    await line.begun("other")
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(waiting, 5)
    free = line.request("free", paths("b"))
    await line.begun("free")
    line.let_go.set()
    await all_done(holder, other, free)
    assert len(queue) == 0


@pytest.mark.covers("F1")
async def test_one_cancelled_while_its_path_is_resolved_holds_up_nobody(queue: WriteQueue) -> None:
    line = Line(queue)
    looking, found = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def slowly() -> Sequence[str]:
        loop.call_soon_threadsafe(looking.set)
        asyncio.run_coroutine_threadsafe(found.wait(), loop).result(5)
        return ["/ws/a"]

    cancelled = line.request("cancelled", slowly)
    await asyncio.wait_for(looking.wait(), 5)
    cancelled.cancel()
    behind = line.request("behind", paths("a"))
    await line.begun("behind")
    line.let_go.set()
    found.set()
    ends = await all_done(cancelled, behind)
    assert [type(end) for end in ends] == [asyncio.CancelledError, type(None)]


@pytest.mark.covers("F1", "R032")
async def test_a_failing_turn_frees_the_queue(queue: WriteQueue) -> None:
    async def fail() -> None:
        async with queue.turn(paths("a"), signal=AbortSignal()):
            raise OSError("disk full")

    line = Line(queue)
    failing, behind = asyncio.create_task(fail()), line.request("behind", paths("a"))
    line.let_go.set()
    ends = await all_done(failing, behind)
    assert [type(end) for end in ends] == [OSError, type(None)]
    assert len(queue) == 0


@pytest.mark.covers("R032")
async def test_the_entry_of_a_file_is_there_only_while_it_is_written(
    queue: WriteQueue, tmp_path: Path
) -> None:
    assert len(queue) == 0
    async with queue.turn(lambda: [str(tmp_path / "a"), str(tmp_path / "b")], signal=AbortSignal()) as held:
        assert held == (str(tmp_path / "a"), str(tmp_path / "b"))
        assert len(queue) == 2
    assert len(queue) == 0


@pytest.mark.covers("F1")
async def test_names_that_differ_in_case_are_one_file_where_the_file_system_says_so() -> None:
    line = Line(WriteQueue(fold_case=True))
    first = line.request("first", paths("Re\u0301adme"))
    await line.begun("first")
    second, other = line.request("second", paths("r\u00e9adme")), line.request("other", paths("b"))
    await line.begun("other")
    assert line.log == ["first", "other"]
    line.let_go.set()
    await all_done(first, second, other)
