"""Open documents are read as the user sees them and changed through the editor, closed files on disk."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from pilothouse_agent.kernel.ports import FileText
from pilothouse_agent.kernel.tooling import ToolError
from pilothouse_server.client.clients import ClientProfile
from pilothouse_server.client.positions import Encoding
from pilothouse_server.documents.document import Document
from support.context import RecordingContext
from support.fake_editor import Editing, FakeEditor, Habits, editing
from support.file_tools import FileTools
from support.kernel import Gate, soon
from support.lsp_texts import ENCODINGS

Json: TypeAlias = dict[str, Any]
MakeTools: TypeAlias = Callable[[Editing], Awaitable[FileTools]]


@pytest.fixture
async def beside() -> AsyncIterator[Editing]:
    async with editing() as beside:
        yield beside


@pytest.fixture
async def editor(beside: Editing) -> FakeEditor:
    return beside.editor


@pytest.fixture
async def tools(beside: Editing, tools_beside: MakeTools) -> FileTools:
    return await tools_beside(beside)


def put(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


@pytest.mark.covers("R001", "F2")
async def test_unsaved_typing_is_matched_and_kept_and_the_disk_is_left_alone(
    editor: FakeEditor, tools: FileTools, folder: Path
) -> None:
    file = put(folder, "a.py", b"x=1\n")
    buffer = editor.open(file)
    editor.type(buffer, 4, "y=2\n")
    await tools.edit("a.py", ("x=1", "x=3"))

    assert (buffer.text, file.read_bytes()) == ("x=3\ny=2\n", b"x=1\n")
    assert editor.edits == [
        {
            "label": "Pilothouse: a.py",
            "edit": {
                "documentChanges": [
                    {
                        "textDocument": {"uri": buffer.uri, "version": 2},
                        "edits": [
                            {
                                "range": {
                                    "start": {"line": 0, "character": 2},
                                    "end": {"line": 0, "character": 3},
                                },
                                "newText": "3",
                            }
                        ],
                    }
                ]
            },
        }
    ]


@pytest.mark.covers("R002")
async def test_a_change_that_was_taken_back_does_not_come_again(
    editor: FakeEditor, tools: FileTools, folder: Path
) -> None:
    buffer = editor.open(put(folder, "t", b"1\n2\n3\n"))
    await tools.edit("t", ("2", "4"))
    editor.undo(buffer)
    await tools.edit("t", ("3", "1"))

    assert buffer.text == "1\n2\n1\n"


@pytest.mark.covers("R005", "F3")
async def test_own_edits_through_the_editor_are_no_change_by_others(
    editor: FakeEditor, tools: FileTools, folder: Path
) -> None:
    buffer = editor.open(put(folder, "a", b"1 2 3"))
    await tools.read("a")
    await tools.edit("a", ("1", "one"))
    await tools.edit("a", ("2", "two"))
    await tools.write("a", "done")

    assert (buffer.text, len(editor.edits)) == ("done", 3)


@pytest.mark.covers("F3")
async def test_what_the_user_typed_during_an_edit_must_be_read_before_it_is_replaced(
    editor: FakeEditor, tools: FileTools, folder: Path
) -> None:
    buffer = editor.open(put(folder, "a", b"1\n2\n"))
    await tools.read("a")

    async def typed_after(editor: FakeEditor, params: Json) -> Any:
        editor.habits = Habits(told="later", merged="one")
        editor.type(editor.apply(params), 0, "mine\n")
        editor.flush(buffer)
        return {"applied": True}

    editor.on_apply = typed_after
    await tools.edit("a", ("2", "two"))
    refused = await tools.refused("write_file", path="a", content="all new\n")

    assert (buffer.text, refused.partition(":")[0]) == ("mine\n1\ntwo\n", "a was not replaced")


@pytest.mark.covers("F2", "K107")
async def test_typing_while_an_edit_is_being_worked_out_is_in_the_text_it_is_made_for(
    editor: FakeEditor, tools: FileTools, folder: Path
) -> None:
    buffer = editor.open(file := put(folder, "a", b"one\n"))
    loop = asyncio.get_running_loop()
    seen: list[str] = []

    async def typed() -> None:
        editor.type(buffer, 0, "typed ")

    def change(now: FileText | None) -> str:
        assert now is not None
        seen.append(now.text)
        if len(seen) == 1:
            asyncio.run_coroutine_threadsafe(typed(), loop).result(5)
        return now.text.replace("one", "1")

    await soon(tools.files.edit(str(file), change, RecordingContext()))

    assert seen == ["one\n", "typed one\n"]
    assert (buffer.text, len(editor.edits)) == ("typed 1\n", 1)


@pytest.mark.covers("R008")
async def test_an_edit_that_the_editor_formats_is_told_and_the_next_matches_the_formatted_text(
    editor: FakeEditor, tools: FileTools, folder: Path
) -> None:
    buffer = editor.open(put(folder, "a", b"f('x')\n"))

    async def formatting(editor: FakeEditor, params: Json) -> Any:
        editor.habits = Habits(told="later", merged="one")
        editor.reset(editor.apply(params), buffer.text.replace("'", '"'))
        editor.save(buffer)
        return {"applied": True}

    editor.on_apply = formatting
    told = await tools.edit_refused("a", ("'x'", "'y'"))
    editor.on_apply = FakeEditor.honest
    editor.habits = Habits()
    await tools.edit("a", ('"y"', '"z"'))

    assert told == (
        "The editor says that it took the edit of a, and its text is now another than was asked for, perhaps "
        "formatted. Read it again before it is changed."
    )
    assert (buffer.text, len(editor.edits)) == ('f("z")\n', 2)


@pytest.mark.covers("R008")
async def test_a_file_that_is_formatted_when_it_is_saved_was_edited_first(
    editor: FakeEditor, tools: FileTools, folder: Path
) -> None:
    buffer = editor.open(put(folder, "a", b"f('x')\n"))

    async def saving(editor: FakeEditor, params: Json) -> Any:
        answer = await editor.honest(params)
        editor.reset(buffer, buffer.text.replace("'", '"'))
        editor.save(buffer)
        return answer

    editor.on_apply = saving
    first = await tools.edit("a", ("'x'", "'y'"))
    second = await tools.edit("a", ('"y"', '"z"'))

    assert (first.splitlines()[0], second.splitlines()[0]) == ("Edited a: 1 line added, 1 removed.",) * 2
    assert buffer.text == 'f("z")\n'


@pytest.mark.covers("R010", "R014")
async def test_a_new_file_is_on_disk_and_no_open_document_is_touched(
    editor: FakeEditor, tools: FileTools, folder: Path
) -> None:
    editor.open(put(folder, "main.go", b"package main\n"))
    await tools.write("main_test.go", "package x\n")

    assert (folder / "main_test.go").read_bytes() == b"package x\n"
    assert [(buffer.text, buffer.version) for buffer in editor.buffers.values()] == [("package main\n", 1)]
    assert editor.edits == []


@pytest.mark.covers("R011")
async def test_a_file_is_changed_by_one_route(editor: FakeEditor, tools: FileTools, folder: Path) -> None:
    open_file, closed = put(folder, "a", b"A\n"), put(folder, "b", b"A\n")
    buffer = editor.open(open_file)
    await tools.edit("a", ("A", "A\nB"))
    await tools.edit("b", ("A", "A\nB"))

    assert (buffer.text, open_file.read_bytes()) == ("A\nB\n", b"A\n")
    assert (closed.read_bytes(), len(editor.edits)) == (b"A\nB\n", 1)


@pytest.mark.covers("R022")
@pytest.mark.parametrize("unsaved", [False, True])
async def test_a_file_that_is_gone_on_disk_is_not_brought_back_by_an_edit(
    beside: Editing, editor: FakeEditor, tools: FileTools, folder: Path, unsaved: bool
) -> None:
    file = put(folder, "a", b"1\n")
    buffer = editor.open(file, text="unsaved 1\n" if unsaved else None)
    await looked_behind(*beside.documents.all())
    file.unlink()
    refusals = [
        await tools.refused("read_file", path="a"),
        await tools.edit_refused("a", ("1", "2")),
        await tools.refused("write_file", path="a", content="2\n"),
    ]

    gone = (
        "a is gone on disk but still open in the editor. Nothing was done. Ask the user whether to save it "
    )
    assert refusals == [f"{gone}again or to close it."] * 3
    assert (buffer.version, editor.edits, file.exists()) == (1, [], False)


async def looked_behind(document: Document) -> None:
    """The server has looked at the file behind it."""
    async with asyncio.timeout(5):
        while not document.had_file:  # noqa: ASYNC110 - nobody is told of a look at the disk
            await asyncio.sleep(0)


@pytest.mark.covers("R026")
async def test_one_call_is_one_request_with_the_least_edits_and_one_undo(
    editor: FakeEditor, tools: FileTools, folder: Path
) -> None:
    text = "".join(f"{number} x\n" for number in range(5))
    buffer = editor.open(put(folder, "a", text.encode()))
    await tools.call("edit_file", path="a", old_text="x", new_text="y", replace_all=True)
    changed = buffer.text
    (request,) = editor.edits
    editor.undo(buffer)

    (entry,) = request["edit"]["documentChanges"]
    assert [edit["newText"] for edit in entry["edits"]] == ["y"] * 5
    assert (request["label"], changed, buffer.text) == ("Pilothouse: a", text.replace("x", "y"), text)


TEXTS = [
    ("a\r\nb\r\nc\r\n", "a\nb", "a\nB", "a\r\nB\r\nc\r\n"),
    ("a\r\nb\nc\r\n", "b", "B", "a\r\nB\nc\r\n"),
    ("a\rb\nc\n", "c", "C", "a\rb\nC\n"),
    ("a\nb", "b", "B\nc", "a\nB\nc"),
    ("a\nb", "a", "A", "A\nb"),
    ("a\n", "a\n", "a\nb\n", "a\nb\n"),
    ("a\nb\n", "b\n", "", "a\n"),
    ("\ufeffa\n", "a", "A", "\ufeffA\n"),
    ("a\x0cb\u2028c\nd\n", "d", "D", "a\x0cb\u2028c\nD\n"),
]


@pytest.mark.covers("R037", "F5", "K108")
@pytest.mark.parametrize(("text", "old", "new", "after"), TEXTS)
async def test_only_what_is_meant_changes_in_the_documents_own_line_ends(
    editor: FakeEditor, tools: FileTools, folder: Path, text: str, old: str, new: str, after: str
) -> None:
    buffer = editor.open(put(folder, "a", text.encode()), text=text)
    await tools.edit("a", (old, new))

    assert buffer.text == after


@pytest.mark.covers("R055", "K111")
@pytest.mark.parametrize("encoding", ENCODINGS)
async def test_positions_behind_an_emoji_are_right_in_every_encoding(
    folder: Path, tools_beside: MakeTools, encoding: Encoding
) -> None:
    file = put(folder, "a", 'x = "\U0001f60b\U0001f60b" + y\n'.encode())
    async with editing(encoding) as beside:
        buffer = beside.editor.open(file)
        tools = await tools_beside(beside)
        beside.editor.type(buffer, 8, " ")
        typed = beside.text(buffer)
        await tools.edit("a", ("y", "z"))
        (edit,) = beside.editor.edits[0]["edit"]["documentChanges"][0]["edits"]

        assert typed == ('x = "\U0001f60b\U0001f60b"  + y\n', None)
        assert beside.text(buffer) == (buffer.text, None) == ('x = "\U0001f60b\U0001f60b"  + z\n', None)
        column = {"utf-8": 18, "utf-16": 14, "utf-32": 12}[encoding]
        assert edit["range"] == {
            "start": {"line": 0, "character": column},
            "end": {"line": 0, "character": column + 1},
        }


@pytest.mark.covers("R056")
async def test_an_edit_names_the_document_as_the_client_spells_it(
    editor: FakeEditor, tools: FileTools, folder: Path
) -> None:
    file = put(folder, "a.py", b"1\n")
    spelling = file.as_uri().replace("a.py", "%61%2Epy")
    buffer = editor.open(file, uri=spelling)
    await tools.edit("a.py", ("1", "2"))

    (entry,) = editor.edits[0]["edit"]["documentChanges"]
    assert (entry["textDocument"]["uri"], buffer.text) == (spelling, "2\n")


@pytest.mark.covers("F1", "K102")
async def test_a_document_open_by_a_link_is_the_one_of_the_real_path(
    editor: FakeEditor, tools: FileTools, folder: Path
) -> None:
    put(folder, "real", b"1\n")
    (folder / "link").symlink_to("real")
    buffer = editor.open(folder / "link")
    await soon(asyncio.gather(tools.edit("real", ("1", "1\n2")), tools.edit("link", ("1", "0\n1"))))

    assert buffer.text in ("0\n1\n2\n", "0\n1\n2\n")
    assert (folder / "real").read_bytes() == b"1\n"


async def test_a_file_that_is_open_by_two_names_is_refused(
    editor: FakeEditor, tools: FileTools, folder: Path
) -> None:
    put(folder, "real", b"1\n")
    (folder / "link").symlink_to("real")
    one, other = editor.open(folder / "link"), editor.open(folder / "real")

    assert await tools.edit_refused("real", ("1", "2")) == (
        f"real is open twice, as {one.uri}, {other.uri}. Ask the user to close one of them; a change of one "
        "would be lost by saving the other."
    )
    assert editor.edits == []


@pytest.mark.covers("F6")
async def test_unsaved_text_is_neither_deleted_nor_moved_nor_moved_over(
    editor: FakeEditor, tools: FileTools, folder: Path
) -> None:
    file, other = put(folder, "a", b"1\n"), put(folder, "b", b"2\n")
    buffer = editor.open(file)
    editor.type(buffer, 0, "mine ")
    new = editor.open(folder / "new", text="only here\n")
    refusals = [
        await tools.refused("delete_file", path="a"),
        await tools.refused("move_file", path="a", new_path="c"),
        await tools.refused("move_file", path="b", new_path="new"),
        await tools.refused("write_file", path="new", content="theirs\n"),
    ]

    lost = "has unsaved text in the editor, which would be lost. Nothing was done. Ask the user to save it"
    assert refusals[:3] == [f"a {lost} first.", f"a {lost} first.", f"new {lost} first."]
    assert refusals[3].startswith("new was not replaced: it exists and has not been read.")
    assert (file.read_bytes(), other.read_bytes(), (folder / "new").exists()) == (b"1\n", b"2\n", False)
    assert (buffer.text, new.text) == ("mine 1\n", "only here\n")


@pytest.mark.covers("F5", "K112")
async def test_a_file_that_the_editor_reads_in_a_wrong_encoding_is_refused(
    editor: FakeEditor, tools: FileTools, folder: Path
) -> None:
    file = put(folder, "a.py", b"# coding: latin-1\nx = '\xe9'\n")
    editor.open(file, text="# coding: latin-1\nx = '\ufffd'\n")

    assert "read the file in a wrong encoding" in await tools.edit_refused("a.py", ("x", "y"))
    assert editor.edits == []


@pytest.mark.parametrize("loads", [False, True])
async def test_a_file_that_is_opened_while_it_is_written_is_compared(
    editor: FakeEditor, tools: FileTools, folder: Path, loads: bool
) -> None:
    file = put(folder, "a", b"1\n")

    def change(now: FileText | None) -> str:
        asyncio.run_coroutine_threadsafe(opened(), loop).result(5)
        return "2\n"

    async def opened() -> None:
        buffer = editor.open(file, text="1\n")
        if loads:
            loop.call_later(0.02, editor.reset, buffer, "2\n")

    loop = asyncio.get_running_loop()
    edit = tools.files.edit(str(file), change, RecordingContext())
    if loads:
        await soon(edit)
    else:
        with pytest.raises(ToolError, match="the editor has opened it meanwhile with another text"):
            await soon(edit)

    assert (file.read_bytes(), editor.edits) == (b"2\n", [])


@pytest.mark.covers("F1", "K101", "K103")
async def test_edits_of_one_document_are_made_in_order_and_those_of_others_meanwhile(
    editor: FakeEditor, tools: FileTools, folder: Path
) -> None:
    buffers = {name: editor.open(put(folder, name, b"1\n")) for name in "ab"}
    gate = Gate()

    async def held(editor: FakeEditor, params: Json) -> Any:
        if len(editor.edits) == 1:
            await gate()
            return {"applied": False, "failureReason": "no"}
        return await editor.honest(params)

    editor.on_apply = held
    first = asyncio.create_task(tools.edit("a", ("1", "1\n2")))
    await gate.arrival()
    second = asyncio.create_task(tools.edit("a", ("1", "1\n3")))
    await soon(tools.edit("b", ("1", "b")))
    order = (buffers["a"].text, buffers["b"].text, second.done())
    gate.open()
    await soon(asyncio.gather(first, second))

    assert order == ("1\n", "b\n", False)
    assert buffers["a"].text == "1\n3\n2\n"


NO_EDITS = ClientProfile(takes_edits=False)


async def test_with_an_editor_that_takes_no_edits_files_are_changed_on_disk_unless_they_are_unsaved(
    folder: Path, tools_beside: MakeTools
) -> None:
    saved, unsaved = put(folder, "a", b"1\n"), put(folder, "b", b"1\n")
    async with editing(profile=NO_EDITS) as beside:
        tools = await tools_beside(beside)
        beside.editor.open(saved)
        beside.editor.type(beside.editor.open(unsaved), 0, "mine ")
        read = await tools.read("b")
        await tools.edit("a", ("1", "2"))
        await tools.edit("a", ("2", "3"))
        refused = await tools.edit_refused("b", ("1", "2"))

        assert "mine 1\n" in read
        assert refused == (
            "b has unsaved text in the editor, which takes no edits from outside. Nothing was done. Ask the "
            "user to save it first."
        )
        assert (saved.read_bytes(), unsaved.read_bytes(), beside.editor.edits) == (b"3\n", b"1\n", [])
