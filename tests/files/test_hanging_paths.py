"""A file system that never answers holds up those who ask it, and nobody else."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from pilothouse_agent.files.disk_files import DiskFiles
from pilothouse_agent.files.disk_threads import DiskThreads
from pilothouse_agent.files.queue import WriteQueue
from pilothouse_agent.kernel.abort import Aborted, AbortSignal
from pilothouse_agent.kernel.ports import FileText
from pilothouse_agent.kernel.tooling import ToolError
from support.context import RecordingContext
from support.fuse import dead_mount

pytestmark = pytest.mark.covers("R234", "F1")


def to_new(file: FileText | None) -> str:
    return "new"


@pytest.fixture
def dead(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "dead"
    place.mkdir()
    with dead_mount(place):
        yield place


class Stuck:
    """Paths that are looked up only when they are let go."""

    def __init__(self) -> None:
        self.let_go = threading.Event()

    def __call__(self, *names: str) -> Callable[[], Sequence[str]]:
        def resolve() -> Sequence[str]:
            assert self.let_go.wait(5)
            return [f"/ws/{name}" for name in names]

        return resolve


async def taken(queue: WriteQueue, resolve: Callable[[], Sequence[str]], log: list[str], name: str) -> None:
    async with queue.turn(resolve, signal=AbortSignal()):
        log.append(name)


async def test_other_files_pass_one_whose_path_is_not_found() -> None:
    queue, stuck, log = WriteQueue(patience=0.01), Stuck(), list[str]()
    waiting = [asyncio.create_task(taken(queue, stuck("far"), log, f"far {number}")) for number in range(3)]
    await asyncio.wait_for(taken(queue, lambda: ["/ws/near"], log, "near"), 5)
    stuck.let_go.set()
    await asyncio.wait_for(asyncio.gather(*waiting), 5)
    assert log == ["near", "far 0", "far 1", "far 2"]
    assert len(queue) == 0


async def test_a_path_that_is_found_in_time_is_not_passed() -> None:
    queue, stuck, log = WriteQueue(patience=60), Stuck(), list[str]()
    tasks = [
        asyncio.create_task(taken(queue, stuck("a"), log, "first")),
        asyncio.create_task(taken(queue, lambda: ["/ws/a"], log, "second")),
    ]
    await asyncio.sleep(0)
    stuck.let_go.set()
    await asyncio.wait_for(asyncio.gather(*tasks), 5)
    assert log == ["first", "second"]


async def test_a_wait_for_a_path_ends_with_the_run() -> None:
    queue, stuck, signal = WriteQueue(patience=0.01), Stuck(), AbortSignal()

    async def wait() -> None:
        async with queue.turn(stuck("far"), signal=signal):
            raise AssertionError

    waiting = asyncio.create_task(wait())
    await asyncio.wait_for(taken(queue, lambda: ["/ws/near"], [], "near"), 5)
    signal.set()
    with pytest.raises(Aborted):
        await asyncio.wait_for(waiting, 5)
    stuck.let_go.set()
    assert len(queue) == 0


@pytest.mark.slow
async def test_files_elsewhere_are_read_and_changed_beside_a_dead_mount(dead: Path, tmp_path: Path) -> None:
    files = DiskFiles(WriteQueue(patience=0.05), write_limit=0.5)
    plain = tmp_path / "a"
    plain.write_text("old")
    reads = [asyncio.create_task(files.read(str(dead / str(n)))) for n in range(10)]
    edits = [
        asyncio.create_task(files.edit(str(dead / str(n)), to_new, RecordingContext())) for n in range(3)
    ]
    change = await asyncio.wait_for(files.edit(str(plain), to_new, RecordingContext()), 5)
    assert (change.before, change.after) == ("old", "new")
    assert (await asyncio.wait_for(files.read(str(plain)), 5)).text == "new"
    for task in edits:
        task.cancel()
    ends = await asyncio.wait_for(asyncio.gather(*reads, return_exceptions=True), 5)
    assert {str(end) for end in ends} == {
        "The file system did not answer within 0.5 s. Nothing was done; try again later."
    }


async def test_looks_that_never_end_are_not_made_without_end() -> None:
    threads, stuck = DiskThreads(at_most=2), threading.Event()
    hanging = [threads.submit(lambda: stuck.wait(5)) for _ in range(2)]
    with pytest.raises(ToolError, match="2 looks at it are still out"):
        threads.submit(lambda: True)
    stuck.set()
    assert [await asyncio.wait_for(asyncio.wrap_future(future), 5) for future in hanging] == [True, True]
