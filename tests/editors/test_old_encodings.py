"""Open documents of files in old encodings, which the editor can decode and we only when we are told."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from pilothouse_server.wire import method_names as names
from support.fake_editor import Buffer, Editing, FakeEditor, editing
from support.file_tools import FileTools

MakeTools: TypeAlias = Callable[[Editing], Awaitable[FileTools]]

pytestmark = pytest.mark.covers("R238", "R237")

TEXT = "größe = 'é'\n"
FAULT = (
    "a.c cannot be read as text that could be written back unchanged: byte 0xf6 in line 1 is not UTF-8, and "
    "the file declares no other encoding that fits. Name its encoding in .editorconfig (charset) or in the "
    "setting files.encodings, or convert it to UTF-8 first if it may be changed, for example with iconv."
)


@pytest.fixture
async def beside() -> AsyncIterator[Editing]:
    async with editing() as beside:
        yield beside


@pytest.fixture
async def tools(beside: Editing, tools_beside: MakeTools) -> FileTools:
    return await tools_beside(beside)


def opened(editor: FakeEditor, folder: Path, encoding: str, text: str = TEXT) -> Buffer:
    (folder / "a.c").write_bytes(text.encode(encoding))
    return editor.open(folder / "a.c", text=text)


def tell(editor: FakeEditor, buffer: Buffer, encoding: object) -> None:
    editor.notify(names.ENCODING, {"uri": buffer.uri, "encoding": encoding})


async def test_reading_says_that_and_why_edits_are_refused(
    beside: Editing, tools: FileTools, folder: Path
) -> None:
    buffer = opened(beside.editor, folder, "cp1252")
    assert await tools.read("a.c") == f"[a.c, lines 1-1 of 1]\n{TEXT}[It cannot be edited: {FAULT}]"
    assert await tools.edit_refused("a.c", ("é", "è")) == FAULT
    assert (buffer.text, beside.editor.edits) == (TEXT, [])


@pytest.mark.parametrize(
    ("encoding", "told"),
    [("cp1252", "windows1252"), ("latin-1", "iso88591"), ("cp1252", "iso-latin-1-unix"), ("cp850", "cp850")],
)
async def test_it_is_edited_where_the_editor_tells_its_encoding(
    beside: Editing, tools: FileTools, folder: Path, encoding: str, told: str
) -> None:
    buffer = opened(beside.editor, folder, encoding)
    tell(beside.editor, buffer, told)
    assert await tools.read("a.c") == f"[a.c, lines 1-1 of 1]\n{TEXT}"
    await tools.edit("a.c", ("é", "ä"))
    assert buffer.text == "größe = 'ä'\n"


async def test_a_document_is_edited_where_its_project_declares_the_encoding(
    beside: Editing, tools: FileTools, folder: Path
) -> None:
    (folder / ".editorconfig").write_text("[*.c]\ncharset = latin1\n")
    buffer = opened(beside.editor, folder, "latin-1")
    await tools.edit("a.c", ("é", "ä"))
    assert buffer.text == "größe = 'ä'\n"


async def test_what_could_not_be_saved_in_that_encoding_is_refused(
    beside: Editing, tools: FileTools, folder: Path
) -> None:
    buffer = opened(beside.editor, folder, "cp1252")
    tell(beside.editor, buffer, "windows1252")
    assert await tools.edit_refused("a.c", ("é", "名")) == (
        "The character U+540D (名) in line 1 of the new text does not exist in cp1252, the encoding of a.c. "
        "Nothing was written. Use characters it has, or convert the file to UTF-8 first."
    )
    assert (buffer.text, beside.editor.edits) == (TEXT, [])


@pytest.mark.parametrize("told", ["shiftjis", "utf8", "no-such", "", None, 7])
async def test_a_word_that_does_not_fit_or_says_nothing_changes_nothing(
    beside: Editing, tools: FileTools, folder: Path, told: object
) -> None:
    buffer = opened(beside.editor, folder, "cp1252")
    tell(beside.editor, buffer, told)
    assert "[It cannot be edited: a.c cannot be read as text" in await tools.read("a.c")
    assert (await tools.edit_refused("a.c", ("é", "è"))).startswith("a.c cannot be read as text")


async def test_an_encoding_is_told_of_one_opening(beside: Editing, tools: FileTools, folder: Path) -> None:
    buffer = opened(beside.editor, folder, "cp1252")
    tell(beside.editor, buffer, "windows1252")
    beside.editor.close(buffer)
    tell(beside.editor, buffer, "windows1252")
    opened(beside.editor, folder, "cp1252")
    assert await tools.edit_refused("a.c", ("é", "è")) == FAULT


async def test_a_document_saved_in_an_old_encoding_has_nothing_unsaved(
    beside: Editing, tools: FileTools, folder: Path
) -> None:
    buffer = opened(beside.editor, folder, "cp1252")
    tell(beside.editor, buffer, "windows1252")
    assert await tools.call("move_file", path="a.c", new_path="b.c") == "Moved a.c to b.c."
