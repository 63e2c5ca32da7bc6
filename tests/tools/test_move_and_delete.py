"""move_file and delete_file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pilothouse_agent.kernel.events import FileChanged, Location
from pilothouse_agent.kernel.messages import TextBlock
from pilothouse_agent.kernel.ports import FileText
from pilothouse_agent.kernel.tooling import FileDiff, Footprint, Hunk, Preview, ToolError, ToolResult, Touch
from support.context import RecordingContext
from support.file_tools import FileTools


async def test_a_move_tells_both_names(tools: FileTools, folder: Path) -> None:
    (folder / "a").write_text("1\n2\n")
    call = await tools.bind("move_file", path="a", new_path="sub/b")
    old, new = str(folder / "a"), str(folder / "sub" / "b")
    assert (call.title, call.locations) == ("Move a to sub/b", (Location(old), Location(new)))
    assert call.footprint == Footprint(writes=(Touch(old), Touch(new), Touch(str(folder / "sub"))))
    assert await call.execute(RecordingContext("c1")) == ToolResult(
        (TextBlock("Moved a to sub/b."),),
        details={"path": new, "change": "rename", "source": old},
        locations=(Location(new),),
        effects=(FileChanged(new, "rename", "disk", 0, 0, "c1"),),
    )
    assert ((folder / "a").exists(), (folder / "sub" / "b").read_text()) == (False, "1\n2\n")


@pytest.mark.covers("R235")
async def test_a_name_changes_only_its_case_where_that_makes_another_name(
    tools: FileTools, folder: Path
) -> None:
    (folder / "a.py").write_text("x\n")
    moved = await tools.call("move_file", path="a.py", new_path="A.py")

    assert (moved, [file.name for file in folder.iterdir()]) == ("Moved a.py to A.py.", ["A.py"])


@pytest.mark.covers("R023")
@pytest.mark.parametrize("target", ["a", "./a", "link", "sub/../a"])
async def test_a_file_edited_and_moved_onto_itself_is_there_with_its_new_content(
    tools: FileTools, folder: Path, target: str
) -> None:
    (folder / "a").write_text("old")
    (folder / "link").symlink_to("a")
    await tools.edit("a", ("old", "new"))
    assert "are the same file. Nothing was moved." in await tools.refused(
        "move_file", path="a", new_path=target
    )
    assert (folder / "a").read_text() == "new"


async def test_a_binary_file_is_moved_and_deleted(tools: FileTools, folder: Path) -> None:
    (folder / "a").write_bytes(b"\0\1")
    await tools.run("move_file", path="a", new_path="b")
    assert (folder / "b").read_bytes() == b"\0\1"
    result = await tools.run("delete_file", path="b")
    assert result.effects == (FileChanged(str(folder / "b"), "delete", "disk", 0, 0, "call-1"),)
    assert os.listdir(folder) == []


async def test_a_delete_tells_how_many_lines_are_gone(tools: FileTools, folder: Path) -> None:
    (folder / "a").write_text("1\n2\n")
    result = await tools.run("delete_file", path="a")
    assert result.content == (TextBlock("Deleted a."),)
    assert result.effects == (FileChanged(str(folder / "a"), "delete", "disk", 0, 2, "call-1"),)


async def test_a_link_is_deleted_itself_and_the_call_names_both_paths(tools: FileTools, folder: Path) -> None:
    (folder / "target").write_text("stays")
    (folder / "link").symlink_to("target")
    call = await tools.bind("delete_file", path="link")
    assert call.footprint == Footprint(writes=(Touch(str(folder / "link")), Touch(str(folder / "target"))))
    assert await call.preview(tools.files.plan()) == Preview()
    result = await tools.execute(call)
    assert result.content == (TextBlock("Deleted the symbolic link link; what it led to is still there."),)
    assert os.listdir(folder) == ["target"]


async def test_directories_are_refused(tools: FileTools, folder: Path) -> None:
    (folder / "sub").mkdir()
    assert "is a directory" in await tools.refused("delete_file", path="sub")
    assert "is a directory" in await tools.refused("move_file", path="sub", new_path="other")
    assert os.listdir(folder) == ["sub"]


async def test_previews_plan_what_will_be_left(tools: FileTools, folder: Path) -> None:
    (folder / "a").write_text("1\n")
    planned = tools.files.plan()
    move = await tools.bind("move_file", path="a", new_path="b")
    edit = await tools.bind("edit_file", path="b", old_text="1", new_text="2")
    delete = await tools.bind("delete_file", path="b")
    assert await move.preview(planned) == Preview()
    assert await planned.text(str(folder / "a")) is None
    assert await planned.text(str(folder / "b")) == FileText(str(folder / "b"), "1\n", "utf-8")
    await edit.preview(planned)
    assert await delete.preview(planned) == Preview(
        (FileDiff(str(folder / "b"), "2\n", None, (Hunk(1, 1, ("-2\n",)),)),)
    )
    assert await planned.text(str(folder / "b")) is None
    assert os.listdir(folder) == ["a"]


async def test_what_a_moved_binary_leaves_is_not_guessed(tools: FileTools, folder: Path) -> None:
    (folder / "a").write_bytes(b"\0")
    planned = tools.files.plan()
    assert await (await tools.bind("move_file", path="a", new_path="b")).preview(planned) == Preview()
    assert planned.uncertain


@pytest.mark.covers("R017")
async def test_what_cannot_succeed_is_refused_before_anybody_is_asked(tools: FileTools, folder: Path) -> None:
    (folder / "a").write_text("a")
    (folder / "b").write_text("b")
    (folder / "sub").mkdir()
    calls = [
        await tools.bind("move_file", path="a", new_path="b"),
        await tools.bind("move_file", path="a", new_path="./a"),
        await tools.bind("move_file", path="missing", new_path="c"),
        await tools.bind("move_file", path="sub", new_path="c"),
        await tools.bind("delete_file", path="missing"),
        await tools.bind("delete_file", path="sub"),
    ]
    for call in calls:
        with pytest.raises(ToolError):
            await call.preview(tools.files.plan())
