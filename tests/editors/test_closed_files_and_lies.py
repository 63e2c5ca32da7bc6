"""Whatever an editor answers to an edit of a file that is not open: a clear result, and nothing twice."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from support.fake_editor import NEVER, Editing, FakeEditor, Refused
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


@pytest.mark.covers("R020")
@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"applied": False}, "the editor refused without a reason"),
        ({"applied": False, "failureReason": "It is locked."}, "It is locked"),
        (Refused("no"), "no"),
    ],
)
async def test_what_the_editor_refuses_is_not_done_on_disk_either(
    editor: PluginEditor, tools: FileTools, file: Path, answer: Any, reason: str
) -> None:
    async def refuse(editor: FakeEditor, params: Json) -> Any:
        if isinstance(answer, Refused):
            raise answer
        return answer

    editor.on_apply = refuse
    told = await refused(tools)
    nothing = (file.read_text(encoding="utf-8"), len(editor.edits), len(tools.queue))
    editor.on_apply = FakeEditor.honest
    await edited(tools)

    assert told == f"a was not changed: {reason}. Nothing was done."
    assert nothing == (TEXT, 1, 0)
    assert file.read_text(encoding="utf-8") == DONE


async def _yes(editor: FakeEditor, params: Json) -> Json:
    return {"applied": True}


async def _null(editor: FakeEditor, params: Json) -> None:
    return None


async def _never(editor: FakeEditor, params: Json) -> Any:
    return NEVER


UNKNOWN = {
    "yes": (_yes, "the editor says that it was applied, but neither an open document nor the disk shows it"),
    "null": (_null, "the editor did not say whether it was applied"),
    "nothing": (_never, "the editor did not answer"),
}


@pytest.mark.covers("R019", "K113")
@pytest.mark.parametrize("how", UNKNOWN)
async def test_an_edit_that_is_not_seen_is_not_taken_for_made_nor_sent_again(
    editor: PluginEditor, tools: FileTools, file: Path, how: str
) -> None:
    editor.on_apply, reason = UNKNOWN[how]
    told, again = await refused(tools), await refused(tools)
    sent = len(editor.edits)
    editor.on_apply = FakeEditor.honest
    await tools.read("a")
    await edited(tools)

    assert (
        told == f"Outcome unknown: an edit of a was sent, and {reason}. Read it again before it is changed."
    )
    assert again.startswith("An earlier write to a had an unknown outcome.")
    assert (sent, file.read_text(encoding="utf-8"), len(tools.queue)) == (1, DONE, 0)


SILENT = {"nothing": NEVER, "null": None, "no": {"applied": False}}


@pytest.mark.parametrize("answer", SILENT)
async def test_an_edit_that_is_seen_is_made_whatever_the_answer(
    editor: PluginEditor, tools: FileTools, file: Path, answer: str
) -> None:
    async def applied_and(editor: FakeEditor, params: Json) -> Any:
        editor.taken(params)
        return SILENT[answer]

    editor.on_apply = applied_and

    assert (await edited(tools)).splitlines()[0] == EDITED
    assert (file.read_text(encoding="utf-8"), len(editor.edits)) == (DONE, 1)


@pytest.mark.covers("K113")
async def test_an_edit_that_comes_after_it_was_given_up_is_in_the_text_of_the_next(
    editor: PluginEditor, tools: FileTools, file: Path
) -> None:
    editor.on_apply = _never
    await refused(tools)
    editor.taken(editor.edits[0])
    editor.on_apply = FakeEditor.honest
    read = await tools.read("a")

    assert "2b" in read
    assert "new_text is there already, in line 2" in await refused(tools)
    assert (editor.buffer(file).text, file.read_text(encoding="utf-8")) == (DONE, TEXT)


async def test_a_document_that_is_opened_and_left_as_it_was_is_in_doubt(
    beside: Editing, editor: PluginEditor, tools: FileTools, file: Path
) -> None:
    async def opened(editor: FakeEditor, params: Json) -> Json:
        editor.open(file)
        return {"applied": True}

    editor.on_apply = opened
    await refused(tools)

    assert beside.text(editor.buffer(file)) == (TEXT, f"an edit was sent, and {UNKNOWN['yes'][1]}")


async def test_half_of_an_edit_is_called_neither_made_nor_refused(
    editor: PluginEditor, tools: FileTools, file: Path
) -> None:
    async def half(editor: FakeEditor, params: Json) -> Any:
        (entry,) = params["edit"]["documentChanges"]
        return editor.taken({"edit": {"documentChanges": [{**entry, "edits": entry["edits"][:1]}]}})

    editor.on_apply = half
    told = await soon(tools.edit_refused("a", ("one", "1"), ("three", "3")))

    assert told == (
        "The editor says that it took an edit of a, and its text is now another than was asked for, perhaps "
        "formatted. Read it again before it is changed."
    )
    assert (file.read_text(encoding="utf-8"), editor.saves) == (TEXT, [])


async def test_a_client_that_vanishes_in_mid_edit_frees_the_queue_at_once(
    beside: Editing, editor: PluginEditor, tools: FileTools, file: Path
) -> None:
    editor.on_apply = _never
    editing_it = asyncio.create_task(refused(tools))
    await soon(editor.asked.wait())
    await beside.rpc.close()

    assert "the connection to the editor ended before it answered" in await soon(editing_it)
    assert (len(tools.queue), file.read_text(encoding="utf-8")) == (0, TEXT)
