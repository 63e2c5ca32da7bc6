"""What users and others do to a file while an edit of it goes through the editor is never lost."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from pilothouse_agent.files.closed_files import Intended
from pilothouse_agent.files.workspace import Workspace
from pilothouse_agent.kernel.ports import FileChange, FileText
from support.context import RecordingContext
from support.fake_editor import Editing, FakeEditor
from support.file_tools import FileTools
from support.kernel import soon
from support.plugin_editor import PluginEditor

Json: TypeAlias = dict[str, Any]

TEXT = "one\ntwo\nthree\n"
DONE = "one\n2\n2b\nthree\n"
EDIT = ("two\n", "2\n2b\n")


@pytest.fixture
def file(folder: Path) -> Path:
    path = folder / "a"
    path.write_bytes(TEXT.encode())
    return path


async def edited(tools: FileTools) -> str:
    return await soon(tools.edit("a", EDIT))


@pytest.mark.covers("F2", "R004")
async def test_what_others_write_while_the_edit_is_worked_out_is_in_the_text_it_is_made_for(
    editor: PluginEditor, tools: FileTools, file: Path
) -> None:
    seen: list[str] = []

    def change(now: FileText | None) -> str:
        assert now is not None
        seen.append(now.text)
        if len(seen) == 1:
            file.write_text(f"theirs\n{TEXT}", encoding="utf-8")
        return now.text.replace("two", "2")

    await soon(tools.files.edit(str(file), change, RecordingContext()))

    assert seen == [TEXT, f"theirs\n{TEXT}"]
    assert (file.read_text(encoding="utf-8"), len(editor.edits)) == ("theirs\none\n2\nthree\n", 1)


async def test_a_refusal_because_the_disk_has_changed_is_no_refusal_of_the_next_try(
    editor: PluginEditor, tools: FileTools, file: Path
) -> None:
    async def changed_first(editor: FakeEditor, params: Json) -> Any:
        if len(editor.edits) == 1:
            file.write_text(f"theirs\n{TEXT}", encoding="utf-8")
            return {"applied": False, "failureReason": "it has changed on disk"}
        return await editor.honest(params)

    editor.on_apply = changed_first
    await edited(tools)

    assert (file.read_text(encoding="utf-8"), len(editor.edits)) == (f"theirs\n{DONE}", 2)


async def test_a_file_that_is_opened_while_the_edit_is_worked_out_is_edited_as_it_is_open(
    editor: PluginEditor, tools: FileTools, file: Path
) -> None:
    loop = asyncio.get_running_loop()
    seen: list[str] = []

    async def opened() -> None:
        editor.type(editor.open(file), 0, "typed ")

    def change(now: FileText | None) -> str:
        assert now is not None
        seen.append(now.text)
        if len(seen) == 1:
            asyncio.run_coroutine_threadsafe(opened(), loop).result(5)
        return now.text.replace("two", "2")

    await soon(tools.files.edit(str(file), change, RecordingContext()))
    (asked,) = editor.edits

    assert seen == [TEXT, f"typed {TEXT}"]
    assert asked["edit"]["documentChanges"][0]["textDocument"]["version"] == 2
    assert (editor.buffer(file).text, file.read_text(encoding="utf-8")) == ("typed one\n2\nthree\n", TEXT)
    assert editor.saves == []


@pytest.mark.covers("F6")
@pytest.mark.parametrize("kind", ["modify", "delete"])
async def test_nothing_is_sent_when_the_user_comes_in_between_at_the_last_look(
    beside: Editing, editor: PluginEditor, file: Path, kind: Any
) -> None:
    loop = asyncio.get_running_loop()
    buffer = editor.open(file) if kind == "delete" else None

    async def came() -> None:
        editor.type(buffer or editor.open(file), 0, "typed ")

    def still() -> bool:
        asyncio.run_coroutine_threadsafe(came(), loop).result(5)
        return True

    closed = beside.files(await asyncio.to_thread(Workspace, [file.parent])).closed
    change = FileChange(str(file), kind, "editor", TEXT, DONE if kind == "modify" else None)
    assert closed is not None
    made = await soon(closed.make(Intended(change, still, lambda: None), RecordingContext()))

    assert (made, editor.edits, editor.buffer(file).text) == (None, [], f"typed {TEXT}")


@pytest.mark.covers("R001")
async def test_a_file_that_is_opened_and_typed_into_once_the_edit_is_sent_keeps_the_typing(
    editor: PluginEditor, tools: FileTools, file: Path
) -> None:
    async def typed_first(editor: FakeEditor, params: Json) -> Any:
        if len(editor.edits) == 1:
            editor.type(editor.open(file), 0, "typed ")
        return await editor.honest(params)

    editor.on_apply = typed_first
    await edited(tools)

    assert editor.buffer(file).text == f"typed {DONE}"
    assert [edit["edit"]["documentChanges"][0]["textDocument"]["version"] for edit in editor.edits] == [
        None,
        2,
    ]
    assert (file.read_text(encoding="utf-8"), editor.saves) == (TEXT, [])
