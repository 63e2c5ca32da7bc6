"""Searches see what the editor has, not what the disk had before."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from pilothouse_agent.files.workspace import Workspace
from pilothouse_agent.kernel.messages import text_of
from pilothouse_agent.kernel.ports import Tool
from pilothouse_agent.tools.search.glob_file import GlobFileTool
from pilothouse_agent.tools.search.grep import GrepTool
from pilothouse_agent.tools.search.ripgrep import Ripgrep
from pilothouse_agent.tools.shell.environment import child_environment
from support.context import RecordingContext
from support.fake_editor import Buffer, Editing, editing


class Searching:
    """An editor in a folder, and both tools beside it."""

    def __init__(self, beside: Editing, folder: Path) -> None:
        workspace, ripgrep = Workspace([folder]), Ripgrep(child_environment(os.environ))
        held = beside.files(workspace)
        self.beside = beside
        self._folder = folder
        self._files = GlobFileTool(workspace, ripgrep, protected=(".env",), open_files=held)
        self._grep = GrepTool(workspace, ripgrep, protected=(".env",), open_files=held)

    def open(self, name: str, *, disk: str | None, text: str) -> Buffer:
        """A document that was opened with what is on disk, and then typed into."""
        path = self._folder / name
        if disk is not None:
            path.parent.mkdir(exist_ok=True)
            path.write_text(disk, encoding="utf-8")
        buffer = self.beside.editor.open(path, text=disk or "")
        self.beside.editor.type(buffer, 0, text, over=len(disk or ""))
        self.beside.editor.flush(buffer)
        return buffer

    async def grep(self, pattern: str, **arguments: str | int) -> list[str]:
        return await self._lines(self._grep, pattern=pattern, **arguments)

    async def files(self, pattern: str, **arguments: str | int) -> list[str]:
        return await self._lines(self._files, pattern=pattern, **arguments)

    async def _lines(self, tool: Tool, **arguments: str | int) -> list[str]:
        call = await asyncio.to_thread(tool.bind, dict(arguments))
        async with asyncio.timeout(10):
            result = await call.execute(RecordingContext())
        return text_of(result.content).splitlines()


@pytest.fixture
async def search(tmp_path: Path) -> AsyncGenerator[Searching]:
    async with editing() as beside:
        yield await asyncio.to_thread(Searching, beside, tmp_path)


@pytest.mark.covers("R212")
async def test_unsaved_text_is_searched_in_place_of_the_disk(search: Searching) -> None:
    search.open("a.txt", disk="one\nOLD\n", text="one\nNEEDLE\ntwo\n")

    assert await search.grep("NEEDLE") == ["a.txt:2:NEEDLE"]
    assert await search.grep("NEEDLE", path="a.txt", context=1) == [
        "a.txt-1-one",
        "a.txt:2:NEEDLE",
        "a.txt-3-two",
    ]
    assert await search.grep("needle", glob="*.txt", ignore_case=True) == ["a.txt:2:NEEDLE"]
    assert await search.grep("OLD") == ["No matches for 'OLD'."]


@pytest.mark.covers("R212")
async def test_matches_of_the_disk_and_of_the_editor_come_in_one_order(
    search: Searching, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("NEEDLE\n", encoding="utf-8")
    search.open("b.txt", disk="x\n", text="NEEDLE b\n")
    (tmp_path / "c.txt").write_text("NEEDLE\n", encoding="utf-8")

    assert await search.grep("NEEDLE") == ["a.txt:1:NEEDLE", "b.txt:1:NEEDLE b", "c.txt:1:NEEDLE"]
    assert len(await search.grep("NEEDLE", limit=2)) == 3


@pytest.mark.covers("R212")
async def test_files_that_only_the_editor_has_are_found(search: Searching, tmp_path: Path) -> None:
    search.open("src/new.py", disk=None, text="NEEDLE\n")
    (tmp_path / "old.py").write_text("", encoding="utf-8")

    assert await search.files("*.py") == ["src/new.py", "old.py"]
    assert await search.files("src/*.py") == ["src/new.py"]
    assert await search.files("**", path="src") == ["src/new.py"]
    assert await search.grep("NEEDLE") == ["src/new.py:1:NEEDLE"]
    assert await search.grep("NEEDLE", path="src") == ["src/new.py:1:NEEDLE"]
    assert await search.grep("NEEDLE", path="src/new.py") == ["src/new.py:1:NEEDLE"]


@pytest.mark.covers("R212")
async def test_a_saved_document_is_the_file(search: Searching, tmp_path: Path) -> None:
    buffer = search.open("a.txt", disk="one\n", text="NEEDLE\n")
    (tmp_path / "a.txt").write_text("NEEDLE\n", encoding="utf-8")
    search.beside.editor.save(buffer)

    assert await search.grep("NEEDLE") == ["a.txt:1:NEEDLE"]


@pytest.mark.covers("R212")
async def test_protected_text_is_shown_neither_saved_nor_unsaved(search: Searching) -> None:
    search.open(".env", disk="A=1\n", text="NEEDLE=2\n")

    assert await search.grep("NEEDLE") == ["No matches for 'NEEDLE'.", "[1 protected file was skipped]"]


@pytest.mark.covers("R212")
async def test_text_that_is_not_certain_is_named_as_not_searched(search: Searching) -> None:
    doubted = search.open("a.txt", disk="one\n", text="NEEDLE\n")
    gone = search.open("gone.txt", disk=None, text="NEEDLE\n")
    documents = [search.beside.documents.get(buffer.uri) for buffer in (doubted, gone)]
    assert documents[0] is not None
    assert documents[1] is not None
    documents[0].lose("the editor changed it without telling")
    documents[1].had_file = True

    assert await search.grep("NEEDLE") == [
        "No matches for 'NEEDLE'.",
        "[not searched, since the editor's text is not certain or the file is gone: a.txt, gone.txt]",
    ]
    assert await search.files("*.txt") == ["a.txt"]


@pytest.mark.covers("R212")
async def test_text_outside_of_what_is_searched_is_left_out(search: Searching) -> None:
    search.open("src/a.txt", disk="x\n", text="NEEDLE\n")
    search.open("doc/b.txt", disk="x\n", text="NEEDLE\n")

    assert await search.grep("NEEDLE", path="doc") == ["doc/b.txt:1:NEEDLE"]
    assert await search.grep("NEEDLE", glob="src/**") == ["src/a.txt:1:NEEDLE"]
