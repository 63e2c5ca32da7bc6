"""Files that somebody holds open are read and changed there; what only they hold is never lost."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from pilothouse_agent.files.disk_files import DiskFiles
from pilothouse_agent.files.open_files import UnsavedFile
from pilothouse_agent.files.queue import WriteQueue
from pilothouse_agent.kernel.ports import FileChange, FileText, TextChange, WriteScope
from pilothouse_agent.kernel.tooling import ToolError
from support.context import RecordingContext
from support.kernel import soon


class Buffers:
    """An editor's open files, by real path; a text in `texts` is on no disk."""

    closed = None

    def __init__(self, texts: dict[str, str]) -> None:
        self.texts = texts

    async def holds(self, path: str) -> bool:
        return path in self.texts

    async def read(self, path: str) -> FileText:
        return FileText(path, self.texts[path], "utf-8")

    def foreign(self, uri: str) -> str | None:
        return None

    def encoding(self, path: str) -> str | None:
        return None

    def peek(self, path: str) -> FileText | None:
        return FileText(path, self.texts[path], "utf-8") if path in self.texts else None

    async def change(self, path: str, change: TextChange, scope: WriteScope) -> FileChange:
        before = await self.read(path)
        self.texts[path] = await asyncio.to_thread(change, before)
        return FileChange(path, "modify", "editor", before.text, self.texts[path])

    async def unsaved(self) -> Sequence[UnsavedFile]:
        return [UnsavedFile(path, text, on_disk=True) for path, text in self.texts.items()]

    async def refuse_unsaved(self, paths: Sequence[str]) -> None:
        if any(path in self.texts for path in paths):
            raise ToolError("It has unsaved text.")

    async def compare(self, change: FileChange) -> None:
        pass


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a"
    path.write_bytes(b"saved\n")
    return path


def over(buffers: Buffers) -> DiskFiles:
    return DiskFiles(WriteQueue(), open_files=buffers)


@pytest.mark.covers("F2")
async def test_an_open_file_is_read_and_changed_where_it_is_open(file: Path) -> None:
    buffers = Buffers({str(file): "unsaved\n"})
    files = over(buffers)

    read = await soon(files.read(str(file)))
    change = await soon(files.edit(str(file), lambda now: f"{now and now.text}more\n", RecordingContext()))

    assert read.text == "unsaved\n"
    assert change == FileChange(str(file), "modify", "editor", "unsaved\n", "unsaved\nmore\n")
    assert (buffers.texts[str(file)], file.read_bytes()) == ("unsaved\nmore\n", b"saved\n")


@pytest.mark.covers("F3")
async def test_what_is_written_whole_must_have_been_read_where_it_is_open(file: Path) -> None:
    buffers = Buffers({str(file): "unsaved\n"})
    files = over(buffers)

    with pytest.raises(ToolError, match="has not been read"):
        await soon(files.write(str(file), "new\n", RecordingContext()))
    files.note_read(await soon(files.read(str(file))), 1, 1)
    await soon(files.write(str(file), "new\n", RecordingContext()))

    assert (buffers.texts[str(file)], file.read_bytes()) == ("new\n", b"saved\n")


@pytest.mark.covers("F6")
async def test_a_file_with_unsaved_text_is_neither_deleted_nor_moved_nor_moved_over(
    file: Path, tmp_path: Path
) -> None:
    other = tmp_path / "b"
    files = over(Buffers({str(file): "unsaved\n"}))

    with pytest.raises(ToolError, match="unsaved"):
        await soon(files.delete(str(file), RecordingContext()))
    with pytest.raises(ToolError, match="unsaved"):
        await soon(files.move(str(file), str(other), RecordingContext()))

    assert (file.read_bytes(), other.exists()) == (b"saved\n", False)
