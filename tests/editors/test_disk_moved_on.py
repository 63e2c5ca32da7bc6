"""Somebody changes a file on disk whose saved text the editor shows: nobody works on the old one unsaid."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from pilothouse_agent.files.workspace import Workspace
from pilothouse_agent.kernel.hooks import FinishedCall
from pilothouse_agent.kernel.messages import ToolCall, text_of
from pilothouse_agent.kernel.tooling import ToolResult
from pilothouse_server.edits.overtaken import OvertakenAfterCommands
from support.fake_editor import Buffer, Editing, editing
from support.file_tools import FileTools
from support.kernel import soon

OLD, NEW = "x = 'a'\ny = 1\n", 'x = "a"\ny = 1\n'
SHOWS_OLD = (
    "a was changed on disk, and the editor still shows the text from before. Nothing was done. Ask the user "
    "to reload it in the editor."
)
READ_OLD = (
    "[The file was changed on disk, and this is the text from before, which the editor still shows. Ask the "
    "user to reload it there; until then it cannot be edited.]"
)


@pytest.fixture
async def beside() -> AsyncIterator[Editing]:
    async with editing() as beside:
        yield beside


@pytest.fixture
async def buffer(beside: Editing, folder: Path) -> Buffer:
    (folder / "a").write_text(OLD, encoding="utf-8")
    buffer = beside.editor.open(folder / "a")
    await met(beside, buffer)
    beside.editor.on_disk = NEW
    return buffer


@pytest.fixture
async def tools(beside: Editing, tools_beside: Callable[[Editing], Awaitable[FileTools]]) -> FileTools:
    return await tools_beside(beside)


async def met(beside: Editing, buffer: Buffer) -> None:
    """The server has seen that the text is the one on disk."""
    document = beside.documents.get(buffer.uri)
    assert document is not None
    async with asyncio.timeout(5):
        while document.met != buffer.text:  # noqa: ASYNC110 - nobody is told of a look at the disk
            await asyncio.sleep(0)


@pytest.mark.covers("R209")
@pytest.mark.parametrize("old", ['x = "a"', "y = 1"])
async def test_an_edit_says_that_the_editor_is_behind_whatever_text_it_was_made_from(
    buffer: Buffer, beside: Editing, tools: FileTools, folder: Path, old: str
) -> None:
    (folder / "a").write_text(NEW, encoding="utf-8")
    refused = await soon(tools.edit_refused("a", (old, "z = 2")))

    assert (refused, beside.editor.edits, beside.editor.reloaded) == (SHOWS_OLD, [], [])


@pytest.mark.covers("R209")
async def test_reading_says_so_beside_the_old_text(buffer: Buffer, tools: FileTools, folder: Path) -> None:
    (folder / "a").write_text(NEW, encoding="utf-8")
    read = await tools.read("a")

    assert "x = 'a'" in read
    assert read.endswith(READ_OLD)


@pytest.mark.covers("R209")
async def test_replacing_the_whole_file_is_refused_too(
    buffer: Buffer, tools: FileTools, folder: Path
) -> None:
    await tools.read("a")
    (folder / "a").write_text(NEW, encoding="utf-8")

    assert await soon(tools.refused("write_file", path="a", content="all new\n")) == SHOWS_OLD
    assert (folder / "a").read_text(encoding="utf-8") == NEW


@pytest.mark.covers("R209")
async def test_an_editor_that_can_reload_is_asked_to_and_the_edit_is_made(
    buffer: Buffer, beside: Editing, folder: Path, tools_beside: Callable[[Editing], Awaitable[FileTools]]
) -> None:
    beside.can_reload = True
    tools = await tools_beside(beside)
    (folder / "a").write_text(NEW, encoding="utf-8")
    await soon(tools.edit("a", ('x = "a"', "x = 2")))

    assert (buffer.text, beside.editor.reloaded) == ("x = 2\ny = 1\n", [buffer.uri])


@pytest.mark.covers("R209")
async def test_an_editor_that_reloads_by_itself_is_waited_for(
    buffer: Buffer, beside: Editing, tools: FileTools, folder: Path
) -> None:
    (folder / "a").write_text(NEW, encoding="utf-8")
    editing_it = asyncio.create_task(tools.edit("a", ('x = "a"', "x = 2")))
    await asyncio.sleep(0)
    beside.editor.reset(buffer, NEW)
    await soon(editing_it)

    assert buffer.text == "x = 2\ny = 1\n"


@pytest.mark.covers("R209")
@pytest.mark.parametrize("saved", [False, True])
async def test_unsaved_text_and_text_that_was_never_on_disk_are_no_old_text(
    buffer: Buffer, beside: Editing, tools: FileTools, folder: Path, saved: bool
) -> None:
    beside.editor.type(buffer, 0, "mine\n")
    if saved:
        beside.editor.save(buffer)
    (folder / "a").write_text(NEW, encoding="utf-8")
    await soon(tools.edit("a", ("y = 1", "y = 2")))

    assert buffer.text == "mine\nx = 'a'\ny = 2\n"


@pytest.mark.covers("R209")
@pytest.mark.parametrize("can_reload", [False, True])
async def test_a_command_that_changes_what_is_open_names_it_unless_the_editor_reloads(
    buffer: Buffer, beside: Editing, folder: Path, can_reload: bool
) -> None:
    workspace = await asyncio.to_thread(Workspace, [folder])
    hook = OvertakenAfterCommands(
        beside.rpc, beside.documents, workspace, can_reload=can_reload, patience=0.01
    )
    before = await hook.after_tool_result(finished("bash"))
    (folder / "a").write_text(NEW, encoding="utf-8")
    other = await hook.after_tool_result(finished("grep"))
    after = await hook.after_tool_result(finished("bash"))

    told = (
        "formatted\n[changed on disk, while the editor still shows the text from before: a. Ask the user to "
        "reload that before it is edited]\n"
    )
    assert (before, other) == (None, None)
    if can_reload:
        assert (after, buffer.text, beside.editor.reloaded) == (None, NEW, [buffer.uri])
    else:
        assert after is not None
        assert after.content is not None
        assert text_of(after.content) == told


def finished(name: str) -> FinishedCall:
    return FinishedCall(ToolCall("c1", name, {}), ToolResult.text("formatted"))
