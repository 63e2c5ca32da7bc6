"""An abort, a cancellation or the write limit while a file is being changed."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from pilothouse_agent.files.disk import Disk, Gate, Loaded
from pilothouse_agent.files.disk_files import DiskFiles
from pilothouse_agent.files.queue import WriteQueue
from pilothouse_agent.files.recorder import Remains
from pilothouse_agent.kernel.abort import Aborted
from pilothouse_agent.kernel.ports import FileChange, FileText
from pilothouse_agent.kernel.tooling import ToolError
from support.context import RecordingContext
from support.slow_change import SlowChange


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "a"
    path.write_text("old")
    return path


def refuse(file: FileText | None) -> str:
    raise ToolError("no match")


@pytest.mark.covers("F4")
async def test_a_change_in_flight_is_finished_and_told_in_spite_of_an_abort(
    files: DiskFiles, scope: RecordingContext, path: Path
) -> None:
    slow = SlowChange("old", "new")
    edit = asyncio.create_task(files.edit(str(path), slow, scope))
    await slow.begun()
    scope.signal.set()
    slow.let_go()
    assert await asyncio.wait_for(edit, 5) == FileChange(str(path), "modify", "disk", "old", "new")
    assert path.read_text() == "new"


@pytest.mark.covers("F4")
async def test_a_change_in_flight_is_finished_and_told_in_spite_of_a_cancellation(
    files: DiskFiles, queue: WriteQueue, scope: RecordingContext, path: Path
) -> None:
    slow = SlowChange("old", "new")
    edit = asyncio.create_task(files.edit(str(path), slow, scope))
    await slow.begun()
    edit.cancel()
    await asyncio.sleep(0)
    assert len(queue) == 1
    edit.cancel()
    slow.let_go()
    assert await asyncio.wait_for(edit, 5) == FileChange(str(path), "modify", "disk", "old", "new")
    assert edit.cancelling() == 2
    assert len(queue) == 0


@pytest.mark.covers("F4")
async def test_a_change_that_fails_obeys_the_cancellation(
    files: DiskFiles, queue: WriteQueue, scope: RecordingContext, path: Path
) -> None:
    slow = SlowChange("old", "\0")
    edit = asyncio.create_task(files.edit(str(path), slow, scope))
    await slow.begun()
    edit.cancel()
    slow.let_go()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(edit, 5)
    assert path.read_text() == "old"
    assert len(queue) == 0


@pytest.mark.covers("F4", "K105", "R032")
async def test_changes_waiting_at_the_abort_are_never_made(
    files: DiskFiles, queue: WriteQueue, scope: RecordingContext, path: Path
) -> None:
    slow = SlowChange("old", "new")
    first = asyncio.create_task(files.edit(str(path), slow, scope))
    waiting = [asyncio.create_task(files.write(str(path), f"{n}", scope)) for n in range(2)]
    await slow.begun()
    scope.signal.set()
    ends = await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), 5)
    assert [type(end) for end in ends] == [Aborted, Aborted]
    slow.let_go()
    await asyncio.wait_for(first, 5)
    assert path.read_text() == "new"
    assert len(queue) == 0
    assert scope.pending == []


@pytest.mark.covers("F4")
async def test_nothing_is_changed_once_the_run_is_aborted(
    files: DiskFiles, scope: RecordingContext, path: Path
) -> None:
    scope.signal.set()
    for call in (
        files.edit(str(path), refuse, scope),
        files.write(str(path), "x", scope),
        files.move(str(path), f"{path}2", scope),
        files.delete(str(path), scope),
    ):
        with pytest.raises(Aborted):
            await call
    assert path.read_text() == "old"


@pytest.mark.covers("T7", "K113")
async def test_a_change_that_takes_too_long_has_an_unknown_outcome_and_frees_the_queue(
    queue: WriteQueue, scope: RecordingContext, path: Path
) -> None:
    disk = StuckDisk()
    with pytest.raises(ToolError) as caught:
        await DiskFiles(queue, write_limit=0.2, disk=disk).edit(str(path), to_late, scope)
    assert str(caught.value) == (
        f"Outcome unknown: the change of {path} did not come to an end within 0.2 s. "
        "Read it again with read_file before it is changed."
    )
    assert len(queue) == 0
    assert scope.pending == []
    disk.let_go.set()


def to_late(file: FileText | None) -> str:
    return "late"


class StuckDisk(Disk):
    """Stops in the middle of a replacement until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.let_go = threading.Event()
        self.ended = threading.Event()

    def replace(self, path: str, data: bytes, loaded: Loaded, gate: Gate) -> None:
        gate.pass_or_abandon()
        assert self.let_go.wait(5)
        super().replace(path, data, loaded, Gate())
        self.ended.set()


class WatchedDisk(Disk):
    """Tells when a replacement has ended, one way or the other."""

    def __init__(self) -> None:
        super().__init__()
        self.ended = threading.Event()

    def replace(self, path: str, data: bytes, loaded: Loaded, gate: Gate) -> None:
        try:
            super().replace(path, data, loaded, gate)
        finally:
            self.ended.set()


@pytest.mark.covers("T7", "R236")
async def test_a_change_given_up_before_it_was_begun_is_never_made_and_leaves_no_doubt(
    queue: WriteQueue, scope: RecordingContext, path: Path
) -> None:
    disk = WatchedDisk()
    files = DiskFiles(queue, write_limit=0.2, disk=disk)
    slow = SlowChange("old", "late")
    with pytest.raises(ToolError) as caught:
        await files.edit(str(path), slow, scope)
    assert str(caught.value) == (f"Looking at {path} took longer than 0.2 s. Nothing was changed; try again.")
    slow.let_go()
    assert await asyncio.to_thread(disk.ended.wait, 5)
    assert path.read_text() == "old"
    await files.edit(str(path), to_late, scope)
    assert path.read_text() == "late"


@pytest.mark.covers("T7")
async def test_a_file_in_doubt_is_read_again_before_anything_changes_it(
    queue: WriteQueue, scope: RecordingContext, path: Path
) -> None:
    disk = StuckDisk()
    files = DiskFiles(queue, write_limit=0.2, disk=disk)
    with pytest.raises(ToolError, match="Outcome unknown"):
        await files.edit(str(path), to_late, scope)
    disk.let_go.set()
    assert await asyncio.to_thread(disk.ended.wait, 5)
    for call in (
        files.edit(str(path), refuse, scope),
        files.write(str(path), "x", scope),
        files.move(str(path), f"{path}2", scope),
        files.delete(str(path), scope),
    ):
        with pytest.raises(ToolError, match="had an unknown outcome"):
            await call
    files.note_read(await files.read(str(path)), 1, 1)
    await files.write(str(path), "x", scope)
    assert path.read_text() == "x"


class SlowRecorder:
    """Keeps changes when it is let go."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.let_go = asyncio.Event()
        self.kept: list[FileChange] = []

    async def foretell(self, change: FileChange, call_id: str) -> None:
        await self._keep(change)

    async def record(self, change: FileChange, call_id: str, remains: Remains | None) -> None:
        await self._keep(change)

    async def _keep(self, change: FileChange) -> None:
        self.begun.set()
        await self.let_go.wait()
        self.kept.append(change)


@pytest.mark.covers("F4")
@pytest.mark.parametrize("kind", ["edit", "write", "move", "delete"])
async def test_a_change_is_recorded_although_its_call_is_cancelled(
    queue: WriteQueue, scope: RecordingContext, path: Path, kind: str
) -> None:
    recorder = SlowRecorder()
    files = DiskFiles(queue, recorder=recorder)
    calls = {
        "edit": files.edit(str(path), to_late, scope),
        "write": files.write(f"{path}2", "new", scope),
        "move": files.move(str(path), f"{path}2", scope),
        "delete": files.delete(str(path), scope),
    }
    call = asyncio.create_task(calls.pop(kind))
    for other in calls.values():
        other.close()
    await asyncio.wait_for(recorder.begun.wait(), 5)
    call.cancel()
    await asyncio.sleep(0)
    assert len(queue) > 0
    recorder.let_go.set()
    assert [await asyncio.wait_for(call, 5)] == recorder.kept
    assert (call.cancelling(), len(queue)) == (1, 0)
