"""A change that only the editor held goes with its text: model and user are told, whatever way it went."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from pilothouse_agent.files.workspace import Workspace
from pilothouse_agent.kernel.ports import FileChange
from pilothouse_server.edits.lost_texts import LostTexts
from support.fake_editor import Buffer, Editing, FakeEditor, editing

Going: TypeAlias = Callable[[FakeEditor, Buffer, Path], None]

TEXT, EDITED = "1\n2\n3\n", "1\ntwo\n3\n"
MODEL = (
    "[A change of a that you were told was made is gone: it stood in the editor only, and was undone, "
    "reverted or closed there without being saved. Read the file before you go on.]"
)
USER = "A change of a by the agent is gone: it was not saved before it left the editor."


class Desk:
    """One open file with a change of the agent in it, which is not saved."""

    def __init__(self, beside: Editing, workspace: Workspace, path: Path, buffer: Buffer) -> None:
        self.beside, self.path, self.buffer = beside, path, buffer
        self.told: list[str] = []
        self.heard = asyncio.Event()
        self.lost = LostTexts(beside.documents, workspace, self._tell, pause=0)

    async def edit(self, before: str, after: str) -> None:
        self.beside.editor.reset(self.buffer, after)
        await self.lost.changed(FileChange(str(self.path), "modify", "editor", before, after))

    async def until_told(self) -> None:
        async with asyncio.timeout(5):
            await self.heard.wait()

    async def until_looked(self) -> None:
        async with asyncio.timeout(5):
            while self.lost.looking:
                await asyncio.wait(self.lost.looking)

    def _tell(self, text: str) -> None:
        self.told.append(text)
        self.heard.set()


@pytest.fixture
async def desk(folder: Path) -> AsyncIterator[Desk]:
    path = folder / "a"
    path.write_text(TEXT, encoding="utf-8")
    workspace = await asyncio.to_thread(Workspace, [folder])
    async with editing() as beside:
        desk = Desk(beside, workspace, path, beside.editor.open(path))
        await desk.edit(TEXT, EDITED)
        yield desk
        desk.lost.close()


def _reverted(editor: FakeEditor, buffer: Buffer, path: Path) -> None:
    editor.reset(buffer, TEXT)


def _undone_under_typing(editor: FakeEditor, buffer: Buffer, path: Path) -> None:
    editor.type(buffer, 0, "mine\n")
    editor.type(buffer, buffer.text.index("two"), "2", over=3)


def _closed(editor: FakeEditor, buffer: Buffer, path: Path) -> None:
    editor.close(buffer)


def _read_again(editor: FakeEditor, buffer: Buffer, path: Path) -> None:
    editor.close(buffer)
    editor.open(path)


@pytest.mark.covers("R210")
@pytest.mark.parametrize("going", [_reverted, _undone_under_typing, _closed, _read_again])
async def test_a_change_that_goes_is_told_once(desk: Desk, going: Going) -> None:
    going(desk.beside.editor, desk.buffer, desk.path)
    await desk.until_told()

    assert (desk.told, desk.lost.take(), desk.lost.take()) == ([USER], [("lostText", MODEL)], [])


def _saved(editor: FakeEditor, buffer: Buffer, path: Path) -> None:
    path.write_text(buffer.text, encoding="utf-8")
    editor.save(buffer)
    editor.reset(buffer, TEXT)


def _closed_once_it_was_written(editor: FakeEditor, buffer: Buffer, path: Path) -> None:
    path.write_text(buffer.text, encoding="utf-8")
    editor.close(buffer)


def _typed_beside(editor: FakeEditor, buffer: Buffer, path: Path) -> None:
    editor.type(buffer, 0, "mine\n")
    editor.type(buffer, len(buffer.text), "mine\n")


@pytest.mark.covers("R210")
@pytest.mark.parametrize("going", [_saved, _closed_once_it_was_written, _typed_beside])
async def test_a_change_that_is_kept_is_not_told_of(desk: Desk, going: Going) -> None:
    going(desk.beside.editor, desk.buffer, desk.path)
    await desk.until_looked()

    assert (desk.told, desk.lost.take()) == ([], [])


@pytest.mark.covers("R210")
async def test_what_the_agent_itself_changes_again_is_no_loss(desk: Desk) -> None:
    await desk.edit(EDITED, TEXT)
    await desk.until_looked()

    assert (desk.told, desk.lost.take()) == ([], [])
