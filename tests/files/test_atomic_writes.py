"""A file is the whole old or the whole new text, whatever happens in between."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pilothouse_agent.files.disk import Abandoned, Disk, Gate

OLD, NEW = b"old" * 1_700_000, b"new" * 1_700_000

WRITER = """
import os, signal, sys
from pilothouse_agent.files.disk import Disk, Gate

path, anonymous, point = sys.argv[1:]
disk = Disk(anonymous=anonymous == "True")
loaded = disk.load(path)
sys.addaudithook(lambda event, _: os.kill(os.getpid(), signal.SIGKILL) if event == point else None)
disk.replace(path, b"new" * 1_700_000, loaded, Gate())
"""


@pytest.mark.slow
@pytest.mark.covers("R034")
@pytest.mark.parametrize(
    ("point", "anonymous", "left"),
    [
        ("os.chmod", True, 0),
        ("os.link", True, 0),
        ("os.rename", True, 1),
        ("os.chmod", False, 1),
        ("os.rename", False, 1),
    ],
)
def test_a_process_killed_while_it_writes_leaves_the_old_text(
    tmp_path: Path, point: str, anonymous: bool, left: int
) -> None:
    path = tmp_path / "a"
    path.write_bytes(OLD)
    path.chmod(0o640)
    writer = [sys.executable, "-c", WRITER, str(path), str(anonymous), point]
    assert subprocess.run(writer, timeout=20, check=False).returncode == -signal.SIGKILL
    assert path.read_bytes() == OLD
    assert path.stat().st_mode & 0o7777 == 0o640
    drafts = [name for name in os.listdir(tmp_path) if name != "a"]
    assert len(drafts) == left
    for draft in drafts:
        os.utime(tmp_path / draft, (1, 1))
    disk = Disk()
    disk.replace(str(path), NEW, disk.load(str(path)), Gate())
    assert path.read_bytes() == NEW
    assert os.listdir(tmp_path) == ["a"]


RACER = """
import sys
from pathlib import Path
from pilothouse_agent.files.disk import Disk, Gate, Overtaken

path = Path(sys.argv[1])
disk = Disk()
loaded = disk.load(str(path))
sys.addaudithook(lambda event, _: path.write_text("theirs") if event == "os.chmod" else None)
try:
    disk.replace(str(path), b"ours", loaded, Gate())
except Overtaken:
    print("overtaken")
"""


@pytest.mark.slow
@pytest.mark.covers("F2")
def test_a_change_by_others_while_the_new_text_is_written_is_not_lost(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("old")
    racer = [sys.executable, "-c", RACER, str(path)]
    run = subprocess.run(racer, capture_output=True, text=True, timeout=20, check=True)
    assert (run.stdout, path.read_text()) == ("overtaken\n", "theirs")


FULL = """
import resource, sys
from pilothouse_agent.files.disk import Disk, Gate

resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, resource.RLIM_INFINITY))
disk = Disk(anonymous=sys.argv[2] == "True")
path = sys.argv[1]
for act in (lambda: disk.replace(path, b"x" * 2_000_000, disk.load(path), Gate()),
            lambda: disk.create(path + "2", b"x" * 2_000_000, Gate())):
    try:
        act()
    except OSError as error:
        print(error.strerror)
"""


@pytest.mark.slow
@pytest.mark.covers("R034")
@pytest.mark.parametrize("anonymous", [True, False])
def test_a_write_that_fails_half_way_leaves_the_old_text_and_no_draft(
    tmp_path: Path, anonymous: bool
) -> None:
    path = tmp_path / "a"
    path.write_text("old")
    run = subprocess.run(
        [sys.executable, "-c", FULL, str(path), str(anonymous)], capture_output=True, text=True, timeout=20
    )
    assert (run.stdout, run.stderr) == ("File too large\nFile too large\n", "")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.covers("R034")
@pytest.mark.parametrize("anonymous", [True, False])
def test_mode_and_attributes_are_kept(tmp_path: Path, anonymous: bool) -> None:
    path = tmp_path / "a"
    path.write_text("old")
    path.chmod(0o4751)
    os.setxattr(path, "user.origin", b"test")
    disk = Disk(anonymous=anonymous)
    disk.replace(str(path), b"new", disk.load(str(path)), Gate())
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o7777 == 0o4751
    assert os.getxattr(path, "user.origin") == b"test"


@pytest.mark.parametrize("anonymous", [True, False])
def test_a_new_file_is_never_made_over_something(tmp_path: Path, anonymous: bool) -> None:
    (tmp_path / "file").write_text("old")
    (tmp_path / "dangling").symlink_to("nowhere")
    for name in ("file", "dangling"):
        with pytest.raises(FileExistsError):
            Disk(anonymous=anonymous).create(str(tmp_path / name), b"new", Gate())
    assert (tmp_path / "file").read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == ["dangling", "file"]


@pytest.mark.covers("R034")
def test_drafts_that_a_killed_process_left_are_removed_by_the_next_one(tmp_path: Path) -> None:
    abandoned, fresh, other = (
        tmp_path / name for name in (".pilothouse-1.draft", ".pilothouse-2.draft", "x")
    )
    for path in (abandoned, fresh, other):
        path.touch()
    for path in (abandoned, other):
        os.utime(path, (1, 1))
    Disk().create(str(tmp_path / "new"), b"", Gate())
    assert sorted(os.listdir(tmp_path)) == [".pilothouse-2.draft", "new", "x"]


@pytest.mark.covers("T7")
def test_what_was_given_up_is_neither_made_nor_replaced_nor_overwritten(tmp_path: Path) -> None:
    path, disk, gate = tmp_path / "a", Disk(), Gate()
    path.write_bytes(OLD)
    loaded = disk.load(str(path))
    assert gate.close() is True
    for change in (
        lambda: disk.create(str(tmp_path / "new"), NEW, gate),
        lambda: disk.replace(str(path), NEW, loaded, gate),
        lambda: disk.overwrite(str(path), NEW, loaded, gate),
        lambda: disk.remove(str(path), loaded.status, gate),
        lambda: disk.move(str(path), str(tmp_path / "new"), gate),
    ):
        with pytest.raises(Abandoned):
            change()
    assert (os.listdir(tmp_path), path.read_bytes()) == (["a"], OLD)


@pytest.mark.covers("R233")
def test_whoever_has_passed_a_gate_for_nothing_may_pass_again_unless_it_was_closed() -> None:
    gate = Gate()
    gate.pass_or_abandon()
    gate.come_back()
    gate.pass_or_abandon()
    assert gate.close() is False
    gate.come_back()
    with pytest.raises(Abandoned):
        gate.pass_or_abandon()
