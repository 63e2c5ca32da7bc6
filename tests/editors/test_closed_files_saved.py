"""An edit of a file that is not open is saved by the editor, or the model is told that it is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeAlias

import pytest

from support.fake_editor import NEVER, FakeEditor, Habits, Refused
from support.file_tools import FileTools
from support.kernel import soon
from support.plugin_editor import PluginEditor

Json: TypeAlias = dict[str, Any]

TEXT = "one\ntwo\nthree\n"
DONE = "one\n2\n2b\nthree\n"
EDIT = ("two\n", "2\n2b\n")
EDITED = "Edited a: 2 lines added, 1 removed."


@pytest.fixture
def file(folder: Path) -> Path:
    path = folder / "a"
    path.write_bytes(TEXT.encode())
    return path


async def edited(tools: FileTools) -> str:
    return await soon(tools.edit("a", EDIT))


async def refused(tools: FileTools) -> str:
    return await soon(tools.edit_refused("a", EDIT))


async def _never(editor: FakeEditor, params: Json) -> Any:
    return NEVER


async def _null(editor: FakeEditor, params: Json) -> None:
    return None


async def _refuses_to_save(editor: FakeEditor, params: Json) -> Json:
    return {"saved": [], "refused": [{"uri": params["files"][0]["uri"], "reason": "It is read-only."}]}


async def _cannot_save(editor: FakeEditor, params: Json) -> Json:
    raise Refused("no such method")


async def _refuses_oddly(editor: FakeEditor, params: Json) -> Json:
    return {"refused": [5]}


async def _claims_to_save(editor: FakeEditor, params: Json) -> Json:
    return {"saved": [params["files"][0]["uri"]], "refused": []}


UNSAVED = {
    "refused": (_refuses_to_save, "It is read-only"),
    "refused oddly": (_refuses_oddly, "the editor refused to save it without a reason"),
    "an error": (_cannot_save, "no such method"),
    "nothing": (_never, "the editor did not answer"),
    "a lie": (_claims_to_save, "the editor says that it was saved, but the disk does not hold it"),
    "nonsense": (_null, "the editor says that it was saved, but the disk does not hold it"),
}


@pytest.mark.covers("R010")
@pytest.mark.parametrize("how", UNSAVED)
async def test_what_is_not_saved_stands_in_the_editor_and_the_model_is_told(
    editor: PluginEditor, tools: FileTools, file: Path, how: str
) -> None:
    editor.on_save, reason = UNSAVED[how]
    told = await edited(tools)

    assert told.splitlines()[0] == EDITED
    assert told.splitlines()[-1] == f"[It stands in the editor only and is not on disk yet: {reason}.]"
    assert (editor.buffer(file).text, file.read_text(encoding="utf-8")) == (DONE, TEXT)


@pytest.mark.covers("R008")
async def test_a_text_that_is_formatted_in_saving_is_told_and_the_next_edit_matches_it(
    editor: PluginEditor, tools: FileTools, file: Path
) -> None:
    async def formatting(editor: FakeEditor, params: Json) -> Json:
        assert isinstance(editor, PluginEditor)
        editor.on_save = FakeEditor.obedient
        editor.reset(editor.buffer(file), DONE.replace("2", "two"))
        editor.write(editor.buffer(file))
        return {"saved": [file.as_uri()], "refused": []}

    editor.on_save = formatting
    told = await edited(tools)
    await tools.edit("a", ("twob", "2b"))

    assert told.splitlines()[-1] == (
        "[Saving it changed its text further, perhaps by formatting it. Read it again.]"
    )
    assert editor.buffer(file).text == "one\ntwo\n2b\nthree\n"


@pytest.mark.parametrize("merged", ["no", "one"])
async def test_what_the_user_types_behind_the_edit_is_not_saved(
    editor: PluginEditor, tools: FileTools, file: Path, merged: Any
) -> None:
    async def typed_after(editor: FakeEditor, params: Json) -> Any:
        editor.habits = Habits(told="later", merged=merged)
        answer = editor.taken(params)
        editor.type(editor.buffers[file.as_uri()], 0, "half a li")
        editor.flush_all()
        return answer

    editor.on_apply = typed_after
    told = await edited(tools)

    assert told.splitlines()[-1] == (
        "[It stands in the editor only and is not on disk yet: it has been changed there since.]"
    )
    assert (editor.buffer(file).text, editor.saves) == (f"half a li{DONE}", [])
    assert file.read_text(encoding="utf-8") == TEXT


async def test_an_edit_that_the_user_changes_at_once_was_made_all_the_same(
    editor: PluginEditor, tools: FileTools, file: Path
) -> None:
    async def typed_over(editor: FakeEditor, params: Json) -> Any:
        answer = editor.taken(params)
        editor.type(editor.buffers[file.as_uri()], DONE.index("2b"), "mine", over=2)
        return answer

    editor.on_apply = typed_over
    told = await edited(tools)

    assert told.splitlines()[0] == EDITED
    assert (editor.buffer(file).text, editor.saves) == (DONE.replace("2b", "mine"), [])


async def test_an_edit_that_is_closed_without_saving_is_not_called_made(
    editor: PluginEditor, tools: FileTools, file: Path
) -> None:
    async def closes(editor: FakeEditor, params: Json) -> Any:
        editor.close(editor.buffers[file.as_uri()])
        raise Refused("it is closed")

    editor.on_save = closes
    told = await refused(tools)
    await tools.read("a")
    editor.on_save = FakeEditor.obedient
    await edited(tools)

    assert told == (
        "Outcome unknown: an edit of a was sent, and it was closed before it was saved. Read it again before "
        "it is changed."
    )
    assert file.read_text(encoding="utf-8") == DONE
