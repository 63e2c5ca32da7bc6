"""Symbolic links: followed by reads and writes, moved and deleted themselves, never a way around a check."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from pilothouse_agent.files.disk_files import DiskFiles
from pilothouse_agent.kernel.ports import FileChange
from pilothouse_agent.kernel.tooling import ToolError
from support.context import RecordingContext
from support.slow_change import SlowChange


@pytest.mark.covers("F5", "K102", "R035")
async def test_a_write_through_a_link_changes_its_target_and_the_link_stays(
    files: DiskFiles, scope: RecordingContext, tmp_path: Path
) -> None:
    (tmp_path / "shared").mkdir()
    target, link = tmp_path / "shared" / "cfg", tmp_path / "cfg"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(Path("shared") / "cfg")
    change = await files.edit(str(link), lambda file: "new", scope)
    assert change.path == str(target)
    assert os.readlink(link) == "shared/cfg"
    assert (target.read_text(), target.stat().st_mode & 0o7777) == ("new", 0o640)


@pytest.mark.covers("F3", "R025")
async def test_a_write_through_a_link_to_a_file_never_read_is_refused(
    files: DiskFiles, scope: RecordingContext, tmp_path: Path
) -> None:
    (tmp_path / "shared.env").write_text("KEEP=1")
    (tmp_path / ".env").symlink_to("shared.env")
    with pytest.raises(ToolError, match="has not been read"):
        await files.write(str(tmp_path / ".env"), "X=1", scope)
    assert (tmp_path / "shared.env").read_text() == "KEEP=1"


async def test_a_write_through_a_dangling_link_makes_its_target(
    files: DiskFiles, scope: RecordingContext, tmp_path: Path
) -> None:
    (tmp_path / "new").symlink_to(tmp_path / "sub" / "created")
    change = await files.write(str(tmp_path / "new"), "x", scope)
    assert (change.path, change.kind) == (str(tmp_path / "sub" / "created"), "create")
    assert (tmp_path / "new").is_symlink()


@pytest.mark.covers("R025", "R061")
@pytest.mark.parametrize("outside", ["shared.env", "created"])
async def test_a_link_put_in_the_way_after_the_path_was_resolved_is_not_followed(
    files: DiskFiles, scope: RecordingContext, tmp_path: Path, outside: str
) -> None:
    (tmp_path / "shared.env").write_text("KEEP=1")
    name = tmp_path / "ws" / "new"
    name.parent.mkdir()
    name.write_text("A")
    slow = SlowChange("A", "B")
    holder = asyncio.create_task(files.edit(str(name), slow, scope))
    await slow.begun()
    waiting = asyncio.create_task(files.write(str(name), "x", scope))
    other = asyncio.create_task(files.write(str(tmp_path / "ws" / "other"), "x", scope))
    await asyncio.wait_for(other, 5)
    name.unlink()
    name.symlink_to(tmp_path / outside)
    slow.let_go()
    ends = await asyncio.wait_for(asyncio.gather(holder, waiting, return_exceptions=True), 5)
    assert [type(end) for end in ends] == [ToolError, ToolError]
    assert (tmp_path / "shared.env").read_text() == "KEEP=1"
    assert not (tmp_path / "created").exists()


@pytest.mark.covers("R025")
async def test_a_folder_that_became_a_link_while_a_write_waited_is_not_followed(
    files: DiskFiles, scope: RecordingContext, tmp_path: Path
) -> None:
    (tmp_path / "outside").mkdir()
    folder = tmp_path / "ws"
    folder.mkdir()
    (folder / "a").write_text("A")
    slow = SlowChange("A", "B")
    holder = asyncio.create_task(files.edit(str(folder / "a"), slow, scope))
    await slow.begun()
    waiting = asyncio.create_task(files.write(str(folder / "a"), "x", scope))
    other = asyncio.create_task(files.write(str(tmp_path / "other"), "x", scope))
    await asyncio.wait_for(other, 5)
    folder.rename(tmp_path / "moved")
    folder.symlink_to(tmp_path / "outside")
    slow.let_go()
    ends = await asyncio.wait_for(asyncio.gather(holder, waiting, return_exceptions=True), 5)
    assert [type(end) for end in ends] == [ToolError, ToolError]
    assert os.listdir(tmp_path / "outside") == []
    assert (tmp_path / "moved" / "a").read_text() == "A"


async def test_deleting_a_link_leaves_its_target(
    files: DiskFiles, scope: RecordingContext, tmp_path: Path
) -> None:
    (tmp_path / "target").write_text("stays")
    (tmp_path / "link").symlink_to("target")
    change = await files.delete(str(tmp_path / "link"), scope)
    assert change == FileChange(str(tmp_path / "link"), "delete", "disk", None, None)
    assert os.listdir(tmp_path) == ["target"]


async def test_moving_a_link_leaves_its_target(
    files: DiskFiles, scope: RecordingContext, tmp_path: Path
) -> None:
    (tmp_path / "target").write_text("stays")
    (tmp_path / "link").symlink_to("target")
    await files.move(str(tmp_path / "link"), str(tmp_path / "renamed"), scope)
    assert sorted(os.listdir(tmp_path)) == ["renamed", "target"]
    assert os.readlink(tmp_path / "renamed") == "target"


async def test_links_that_go_round_in_a_circle_are_refused(
    files: DiskFiles, scope: RecordingContext, tmp_path: Path
) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(ToolError, match="goes round in a circle"):
        await files.read(str(tmp_path / "a"))
    with pytest.raises(ToolError, match="goes round in a circle"):
        await files.write(str(tmp_path / "a"), "x", scope)
