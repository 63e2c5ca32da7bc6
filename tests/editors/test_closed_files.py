"""Files that are not open are changed through an editor that checks and saves; only what is seen counts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from pilothouse_agent.kernel.events import FileChanged
from pilothouse_server.client.positions import Encoding
from support.fake_editor import Editing, Habits
from support.file_tools import FileTools
from support.kernel import soon
from support.lsp_texts import ENCODINGS
from support.plugin_editor import PluginEditor, beside_plugin

Json: TypeAlias = dict[str, Any]
MakeTools: TypeAlias = Callable[[Editing], Awaitable[FileTools]]

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


@pytest.mark.covers("R010", "R026")
@pytest.mark.parametrize("opens", ["old", "new"])
async def test_one_edit_lands_in_the_editor_and_is_saved(
    editor: PluginEditor, tools: FileTools, file: Path, opens: Any
) -> None:
    editor.opens = opens
    result = await tools.run("edit_file", path="a", old_text="two", new_text="2")
    (asked,) = editor.edits

    place = {"start": {"line": 1, "character": 0}, "end": {"line": 1, "character": 3}}
    document = {"uri": file.as_uri(), "version": None}
    edits = [{"range": place, "newText": "2"}]
    assert asked == {
        "label": "Pilothouse: a",
        "edit": {"documentChanges": [{"textDocument": document, "edits": edits}]},
    }
    version = 1 if opens == "new" else 2
    assert editor.saves == [{"files": [{"uri": file.as_uri(), "version": version}]}]
    assert (file.read_bytes(), editor.buffer(file).text) == (b"one\n2\nthree\n", "one\n2\nthree\n")
    assert result.effects == (FileChanged(str(file), "modify", "editor", 1, 1, "call-1"),)


async def test_one_key_takes_it_back(editor: PluginEditor, tools: FileTools, file: Path) -> None:
    await edited(tools)
    editor.undo(editor.buffer(file))

    assert editor.buffer(file).text == TEXT


HABITS = [
    Habits(told=told, merged=merged) for told in ("before", "after") for merged in ("no", "several", "whole")
]


@pytest.mark.parametrize("habits", HABITS, ids=lambda habits: f"{habits.told} {habits.merged}")
async def test_it_is_seen_whenever_and_however_the_editor_tells_it(
    tools_beside: MakeTools, file: Path, habits: Habits
) -> None:
    async with beside_plugin(habits) as (beside, editor):
        tools = await tools_beside(beside)

        assert (await edited(tools)).splitlines()[0] == EDITED
        assert (file.read_text(encoding="utf-8"), len(editor.edits)) == (DONE, 1)


@pytest.mark.covers("K111")
@pytest.mark.parametrize("encoding", ENCODINGS)
async def test_places_are_right_in_every_encoding(
    tools_beside: MakeTools, file: Path, encoding: Encoding
) -> None:
    file.write_text("\U0001f60b\u00e9 = x\n", encoding="utf-8")
    async with beside_plugin(encoding=encoding) as (beside, _):
        await (await tools_beside(beside)).edit("a", ("x", "\U0001f60b"))

    assert file.read_text(encoding="utf-8") == "\U0001f60b\u00e9 = \U0001f60b\n"


@pytest.mark.covers("R037", "F5")
@pytest.mark.parametrize("keeps", [True, False])
async def test_windows_line_ends_stay_however_the_editor_tells_them(
    editor: PluginEditor, tools: FileTools, file: Path, keeps: bool
) -> None:
    file.write_bytes(TEXT.replace("\n", "\r\n").encode())
    editor.keeps_line_ends = keeps
    await edited(tools)

    assert (file.read_bytes(), len(editor.edits)) == (DONE.replace("\n", "\r\n").encode(), 1)


async def test_what_is_counted_are_changed_lines_and_not_line_ends(
    editor: PluginEditor, tools: FileTools, file: Path
) -> None:
    file.write_bytes(b"1\r\n2\r\n")
    editor.keeps_line_ends = False
    await tools.read("a")
    told = await tools.write("a", "1\ntwo\n")

    assert told == "Replaced a, now 2 lines: 1 line added, 1 removed."
    assert file.read_bytes() == b"1\r\ntwo\r\n"


ON_DISK = {
    "latin-1": "# coding: latin-1\n\xe9\nx\n".encode("latin-1"),
    "utf-16": "\ufeffx\n".encode("utf-16-le"),
    "with a mark": b"\xef\xbb\xbfx\n",
    "mixed line ends": b"a\r\nx\n",
    "a lone CR": b"a\rb\nx\n",
    "half a character": "x\n\ud800".encode("utf-8", "surrogatepass"),
}


@pytest.mark.covers("F5", "K112")
@pytest.mark.parametrize("kind", ON_DISK)
async def test_what_an_editor_might_not_save_as_it_was_is_changed_on_disk(
    editor: PluginEditor, tools: FileTools, file: Path, kind: str
) -> None:
    file.write_bytes(ON_DISK[kind])
    await tools.edit("a", ("x", "y"))

    assert file.read_bytes() == ON_DISK[kind].replace(b"x", b"y")
    assert (editor.edits, editor.buffers) == ([], {})


async def test_the_end_of_the_last_line_is_changed_on_disk(
    editor: PluginEditor, tools: FileTools, file: Path
) -> None:
    await tools.edit("a", ("three\n", "three"))

    assert (file.read_text(encoding="utf-8"), editor.edits) == (TEXT.removesuffix("\n"), [])


async def test_the_setting_counts_at_the_next_change(
    beside: Editing, editor: PluginEditor, tools: FileTools, file: Path, folder: Path
) -> None:
    beside.route = "disk"
    await edited(tools)
    on_disk = (file.read_text(encoding="utf-8"), len(editor.edits))
    beside.route = "editor"
    await tools.edit("a", ("one", "1"))

    assert (on_disk, len(editor.edits)) == ((DONE, 0), 1)


@pytest.mark.covers("R005", "F3")
async def test_own_edits_of_a_closed_file_are_no_change_by_others(
    beside: Editing, editor: PluginEditor, tools: FileTools, file: Path
) -> None:
    await tools.read("a")
    await tools.edit("a", ("one", "1"))
    editor.close(editor.buffer(file))
    await tools.write("a", "all new\n")

    assert (file.read_bytes(), len(editor.edits)) == (b"all new\n", 2)


@pytest.mark.covers("R007", "F3")
async def test_what_was_not_read_is_not_replaced(editor: PluginEditor, tools: FileTools, file: Path) -> None:
    told = await tools.refused("write_file", path="a", content="x\n")

    assert (told.partition(":")[0], editor.edits) == ("a was not replaced", [])


@pytest.mark.covers("F1", "F2", "R031")
async def test_two_edits_of_one_closed_file_are_both_made(
    editor: PluginEditor, tools: FileTools, file: Path
) -> None:
    await soon(asyncio.gather(tools.edit("a", ("one", "1")), tools.edit("a", ("three", "3"))))

    assert editor.buffer(file).text == "1\ntwo\n3\n"
    assert [edit["edit"]["documentChanges"][0]["textDocument"]["version"] for edit in editor.edits] == [
        None,
        2,
    ]


async def test_each_edit_of_a_file_that_nobody_else_has_opened_is_saved(
    editor: PluginEditor, tools: FileTools, file: Path
) -> None:
    for old, new in (("one", "1"), ("two", "2"), ("three", "3")):
        await soon(tools.edit("a", (old, new)))
    saved = file.read_bytes()
    await soon(tools.run("move_file", path="a", new_path="b"))
    await soon(tools.edit("b", ("3", "III")))

    assert saved == b"1\n2\n3\n"
    assert file.with_name("b").read_bytes() == b"1\n2\nIII\n"
    assert len(editor.saves) == 4


@pytest.mark.parametrize("reopened", [False, True])
async def test_an_edit_of_what_the_user_has_taken_over_is_not_saved(
    editor: PluginEditor, tools: FileTools, file: Path, reopened: bool
) -> None:
    await soon(tools.edit("a", ("one", "1")))
    if reopened:
        editor.close(editor.buffer(file))
        editor.open(file)
    else:
        editor.type(editor.buffer(file), 0, "half a li")
    await soon(tools.edit("a", ("two", "2")))

    assert (len(editor.saves), file.read_bytes()) == (1, b"1\ntwo\nthree\n")
    assert "\n2\n" in editor.buffer(file).text
