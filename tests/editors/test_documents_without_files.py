"""Unnamed buffers and cells of notebooks are read and changed by their URI, others are only read by it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from pilothouse_agent.kernel.tooling import InvalidArguments
from support.fake_editor import Editing, editing
from support.file_tools import FileTools


@pytest.fixture
async def beside() -> AsyncIterator[Editing]:
    async with editing() as beside:
        yield beside


@pytest.fixture
async def tools(beside: Editing, tools_beside: Callable[[Editing], Awaitable[FileTools]]) -> FileTools:
    return await tools_beside(beside)


@pytest.mark.covers("R213")
@pytest.mark.parametrize(
    "uri",
    ["untitled:Untitled-1", "untitled:/home/me/new.py", "vscode-notebook-cell:/ws/a.ipynb#W0sZmlsZQ%3D%3D"],
)
async def test_a_document_without_a_file_is_read_and_edited_in_the_editor(
    beside: Editing, tools: FileTools, folder: Path, uri: str
) -> None:
    buffer = beside.editor.open("", uri=uri, text="one\ntwo\n")
    read = await tools.read(uri)
    await tools.edit(uri, ("two", "2"))
    await tools.write(uri, "all new\n")

    assert "one\ntwo\n" in read
    assert buffer.text == "all new\n"
    assert list(folder.iterdir()) == []


@pytest.mark.covers("R213")
async def test_a_document_that_is_not_open_does_not_exist(tools: FileTools) -> None:
    assert "does not exist" in await tools.refused("read_file", path="untitled:Untitled-2")


@pytest.mark.covers("R213")
async def test_a_notebook_whose_cells_are_open_is_left_to_them(
    beside: Editing, tools: FileTools, folder: Path
) -> None:
    notebook = folder / "a.ipynb"
    notebook.write_text("{}\n", encoding="utf-8")
    cell = f"vscode-notebook-cell:{notebook}#W0"
    beside.editor.open("", uri=cell, text="x = 1\n")
    refusals = [
        await tools.refused("read_file", path="a.ipynb"),
        await tools.edit_refused("a.ipynb", ("{}", "[]")),
        await tools.refused("write_file", path="a.ipynb", content="[]\n"),
        await tools.refused("delete_file", path="a.ipynb"),
        await tools.refused("move_file", path="a.ipynb", new_path="b.ipynb"),
    ]

    refusal = (
        "a.ipynb is open as a notebook, whose cells may have text that is not saved. Nothing was done. Read "
        f"and edit its cells by their URIs instead: {cell}."
    )
    assert refusals == [refusal] * 5
    assert notebook.read_text(encoding="utf-8") == "{}\n"


FOREIGN = [
    'git:/ws/a.py?{"path":"/ws/a.py","ref":"HEAD"}',
    "git:/ws/a%20b.py?ref",
    "jdt://contents/rt.jar/java.lang/String.class?=ws/rt.jar%3Cjava.lang(String.class",
    f"jdt://contents/{'long' * 500}.class",
    "fugitive:///ws/.git//0/a.py",
    "output:tasks",
    "vscode-remote://ssh-remote%2Bhost/ws/a.py",
    "zipfile:/ws/a.zip::../../etc/passwd",
    "file://elsewhere/ws/a.py",
    "file:///ws/a.py?version=1",
]


async def _not_taken(tools: FileTools, name: str, **arguments: str) -> str:
    with pytest.raises(InvalidArguments) as refused:
        await tools.bind(name, **arguments)
    return str(refused.value)


@pytest.mark.covers("R213")
@pytest.mark.parametrize("uri", FOREIGN)
async def test_a_document_of_another_scheme_is_read_and_never_changed(
    beside: Editing, tools: FileTools, folder: Path, uri: str
) -> None:
    buffer = beside.editor.open("", uri=uri, text="one\ntwo\n")
    beside.editor.save(buffer)
    read = await tools.read(uri)
    refusals = [
        await _not_taken(tools, "edit_file", path=uri, old_text="two", new_text="2"),
        await _not_taken(tools, "write_file", path=uri, content="all new\n"),
        await _not_taken(tools, "delete_file", path=uri),
        await _not_taken(tools, "move_file", path=uri, new_path="a.py"),
    ]

    told = (
        f"path: {uri} is a document in the editor that is not a file here, and can only be read. Change the "
        "file that it was made from, or write a file of your own"
    )
    assert read == (
        f"[{uri}, lines 1-2 of 2]\none\ntwo\n"
        "[This is a document in the editor that is not a file here. It can only be read.]"
    )
    assert refusals == [told] * 4
    assert (buffer.text, list(folder.iterdir())) == ("one\ntwo\n", [])


@pytest.mark.covers("R213")
async def test_a_document_of_another_scheme_is_found_in_another_spelling(
    beside: Editing, tools: FileTools
) -> None:
    beside.editor.open("", uri="git:/ws/caf%C3%A9%20b.py", text="one\n")

    assert "one\n" in await tools.read("git:/ws/café b.py")


@pytest.mark.covers("R213")
async def test_nothing_but_an_open_document_is_taken_for_one(
    beside: Editing, tools: FileTools, folder: Path
) -> None:
    closed = beside.editor.open("", uri="output:tasks", text="one\n")
    beside.editor.close(closed)
    await tools.write("output:tasks", "mine\n")

    assert "does not exist" in await tools.refused("read_file", path="jdt://contents/A.class")
    assert (folder / "output:tasks").read_text(encoding="utf-8") == "mine\n"


@pytest.mark.covers("R262")
@pytest.mark.parametrize("name", ["a#b.txt", "C#", "#"])
async def test_a_name_with_a_number_sign_that_was_not_escaped_is_the_file(
    beside: Editing, tools: FileTools, folder: Path, name: str
) -> None:
    file = folder / name
    file.write_text("one\n", encoding="utf-8")
    buffer = beside.editor.open(file, uri=f"file://{folder}/{name}")
    await tools.edit(name, ("one", "1"))

    assert (buffer.text, file.read_text(encoding="utf-8")) == ("1\n", "one\n")
