"""Files that no other may take the place of are written where they stand, and undone like others."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from pilothouse_agent.files.disk import Disk, Gate, Loaded
from pilothouse_agent.files.disk_files import DiskFiles
from pilothouse_agent.files.queue import WriteQueue
from pilothouse_agent.files.undo.journal import ChangeJournal
from pilothouse_agent.files.undo.rewind import RewoundFile, rewind
from pilothouse_agent.kernel.ports import FileText
from pilothouse_agent.kernel.tooling import ToolError
from pilothouse_agent.session.recording import RunRecorder
from support.context import RecordingContext
from support.without_override import run_held_back


def to(text: str) -> Callable[[FileText | None], str]:
    return lambda file: text


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "a"
    path.write_text("one\ntwo\n")
    path.chmod(0o640)
    return path


@pytest.fixture
def journal(tmp_path: Path) -> ChangeJournal:
    return ChangeJournal(tmp_path / "state" / "changes.jsonl")


def recorded(journal: ChangeJournal, disk: Disk | None = None) -> DiskFiles:
    recorder = RunRecorder(journal)
    recorder.run_id = lambda: "run-1"
    return DiskFiles(WriteQueue(), disk=disk, recorder=recorder)


@pytest.mark.covers("R232")
@pytest.mark.parametrize("text", ["longer than it was before\n", "short", ""])
async def test_names_that_share_a_file_share_it_after_a_change(
    files: DiskFiles, path: Path, scope: RecordingContext, text: str
) -> None:
    other = path.with_name("other")
    other.hardlink_to(path)
    before = path.stat()
    await files.edit(str(path), to(text), scope)
    after = path.stat()
    assert (path.read_text(), other.read_text()) == (text, text)
    assert (after.st_ino, after.st_mode, after.st_nlink) == (before.st_ino, before.st_mode, 2)


@pytest.mark.covers("R232")
async def test_a_whole_file_is_replaced_under_all_its_names(
    files: DiskFiles, path: Path, scope: RecordingContext
) -> None:
    other = path.with_name("other")
    other.hardlink_to(path)
    files.note_read(await files.read(str(path)), 1, 2)
    await files.write(str(path), "new\n", scope)
    assert other.read_text() == "new\n"


@pytest.mark.covers("R231", "R232")
async def test_what_was_written_in_place_is_undone_in_place(path: Path, journal: ChangeJournal) -> None:
    other = path.with_name("other")
    other.hardlink_to(path)
    files = recorded(journal)
    await files.edit(str(path), to("three\n"), RecordingContext())
    undone = await rewind(files, journal, "run-1")
    assert undone.files == (RewoundFile(str(path), "restored"),)
    assert (path.read_text(), other.read_text()) == ("one\ntwo\n", "one\ntwo\n")


class JournalledFirst(Disk):
    """Remembers what the journal held when a file was about to be overwritten, and may then fail."""

    def __init__(self, journal: ChangeJournal, *, fails: bool = False) -> None:
        super().__init__()
        self._journal = journal
        self._fails = fails
        self.texts: list[tuple[str | None, str | None]] = []

    def overwrite(self, path: str, data: bytes, loaded: Loaded, gate: Gate) -> None:
        changes = self._journal.run("run-1")
        assert changes is not None
        self.texts += [(entry.change.before, entry.change.after) for entry in changes.entries]
        if self._fails:
            raise PermissionError(1, "Operation not permitted", path)
        super().overwrite(path, data, loaded, gate)


@pytest.mark.covers("R231")
async def test_the_old_text_is_kept_before_the_new_one_goes_over_it(
    path: Path, journal: ChangeJournal
) -> None:
    path.with_name("other").hardlink_to(path)
    disk = JournalledFirst(journal)
    await recorded(journal, disk).edit(str(path), to("three\n"), RecordingContext())
    changes = await asyncio.to_thread(journal.run, "run-1")
    assert disk.texts == [("one\ntwo\n", "three\n")]
    assert changes is not None
    assert len(changes.entries) == 1


@pytest.mark.covers("R231")
async def test_what_was_kept_and_then_not_written_is_no_conflict_in_an_undo(
    path: Path, journal: ChangeJournal
) -> None:
    other = path.with_name("other")
    other.hardlink_to(path)
    with pytest.raises(ToolError, match="Not permitted"):
        await recorded(journal, JournalledFirst(journal, fails=True)).edit(
            str(path), to("three\n"), RecordingContext()
        )
    await recorded(journal).edit(str(path), to("four\n"), RecordingContext("call-2"))
    undone = await rewind(recorded(journal), journal, "run-1")
    assert undone.files == (RewoundFile(str(path), "restored"),)
    assert other.read_text() == "one\ntwo\n"


MOUNTED = """
import asyncio, sys
from pilothouse_agent.files.disk_files import DiskFiles
from pilothouse_agent.files.queue import WriteQueue
sys.path.insert(0, sys.argv[2])
from support.context import RecordingContext

async def main():
    change = await DiskFiles(WriteQueue()).edit(sys.argv[1], lambda file: "new\\n", RecordingContext())
    print(change.before, change.after, sep="")

asyncio.run(main())
"""


@pytest.mark.slow
@pytest.mark.covers("R231")
def test_a_file_that_is_a_mount_of_its_own_is_written(tmp_path: Path) -> None:
    source, place = tmp_path / "source", tmp_path / "place"
    source.write_text("old\n")
    place.touch()
    unshare = shutil.which("unshare")
    script = f"mount --bind '{source}' '{place}' && exec \"$@\""
    start = [unshare or "unshare", "-m", "sh", "-c", script, "sh"]
    if unshare is None or subprocess.run([*start, "true"], capture_output=True, check=False).returncode:
        pytest.skip("nothing may be mounted here")
    tests = str(Path(__file__).parents[1])
    command = [*start, sys.executable, "-c", MOUNTED, str(place), tests]
    run = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
    assert (run.stdout, source.read_text()) == ("old\nnew\n\n", "new\n")
    assert sorted(os.listdir(tmp_path)) == ["place", "source"]


HELD_BACK = """
import sys
from pilothouse_agent.files.disk import Disk
from pilothouse_agent.files.disk_texts import DiskTexts, InPlaceOnly
from pilothouse_agent.files.disk import Gate
from pilothouse_agent.kernel.tooling import ToolError

texts = DiskTexts(Disk(), lambda path: path.rpartition("/")[2], lambda path: None)
for path in sys.argv[1:]:
    try:
        texts.rewrite(path, lambda file: "new", Gate(), create=False)
        print("replaced")
    except InPlaceOnly as found:
        texts.overwrite(path, found.plan, Gate())
        print("overwritten")
    except ToolError as error:
        print(error)
"""


@pytest.mark.slow
@pytest.mark.covers("R231", "F5")
def test_what_modes_allow_is_done_and_nothing_else(tmp_path: Path) -> None:
    """A read-only file, a file in a folder where none may be made, and both."""
    locked, free = tmp_path / "locked", tmp_path / "free"
    paths = [free / "readonly", free / "plain", locked / "inside", locked / "readonly"]
    for path in paths:
        path.parent.mkdir(exist_ok=True)
        path.write_text("old")
        path.chmod(0o400 if path.name == "readonly" else 0o600)
    locked.chmod(0o500)
    told = run_held_back(HELD_BACK, *map(str, paths))
    locked.chmod(0o700)
    refused = "Not permitted for readonly: it is read-only. It was left as it is."
    assert told.splitlines() == [refused, "replaced", "overwritten", refused]
    assert [path.read_text() for path in paths] == ["old", "new", "new", "old"]


FULL = """
import resource, sys
from pilothouse_agent.files.disk import Disk, Gate

disk = Disk()
loaded = disk.load(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, resource.RLIM_INFINITY))
try:
    disk.overwrite(sys.argv[1], b"x" * 2_000_000, loaded, Gate())
except OSError as error:
    print(error.strerror)
"""


@pytest.mark.slow
@pytest.mark.covers("R231")
def test_a_file_that_cannot_be_written_to_its_end_keeps_its_old_text(path: Path) -> None:
    command = [sys.executable, "-c", FULL, str(path)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
    assert (run.stdout, path.read_text()) == ("File too large\n", "one\ntwo\n")


class Interrupted(Disk):
    """Somebody else is there first, just before a file gets its name."""

    def __init__(self, make: Callable[[Path], object]) -> None:
        super().__init__()
        self._make = make

    def create(self, path: str, data: bytes, gate: Gate, *, mode: int | None = None) -> None:
        self._make(Path(path))
        super().create(path, data, gate, mode=mode)


def make_file(path: Path) -> None:
    path.write_text("theirs")


def make_link(path: Path) -> None:
    path.symlink_to("nowhere")


@pytest.mark.covers("R233")
@pytest.mark.parametrize("make", [make_file, make_link, Path.mkdir, os.mkfifo])
async def test_a_file_that_others_make_meanwhile_exists_already(
    tmp_path: Path, scope: RecordingContext, make: Callable[[Path], object]
) -> None:
    files = DiskFiles(WriteQueue(), disk=Interrupted(make))
    with pytest.raises(ToolError) as caught:
        await files.write(str(tmp_path / "new"), "ours", scope)
    assert str(caught.value) == (
        f"{tmp_path / 'new'} exists already: it was made just now by somebody else, and was left as it is. "
        "Read it with read_file first."
    )
    assert os.listdir(tmp_path) == ["new"]


@pytest.mark.covers("R233")
async def test_of_two_sessions_that_make_one_file_the_second_is_told(tmp_path: Path) -> None:
    path, both = str(tmp_path / "new"), threading.Barrier(2)

    class AtOnce(Disk):
        def create(self, path: str, data: bytes, gate: Gate, *, mode: int | None = None) -> None:
            both.wait(5)
            super().create(path, data, gate, mode=mode)

    sessions = [DiskFiles(WriteQueue(), disk=AtOnce()) for _ in range(2)]
    writes = [files.write(path, str(n), RecordingContext()) for n, files in enumerate(sessions)]
    ends = await asyncio.wait_for(asyncio.gather(*writes, return_exceptions=True), 5)
    made = [end for end in ends if not isinstance(end, BaseException)]
    told = [str(end) for end in ends if isinstance(end, ToolError)]
    assert [change.after for change in made] == [(tmp_path / "new").read_text()]
    assert [text.startswith(f"{path} exists already") for text in told] == [True]
