"""Files are made, moved and deleted through an editor that checks first; only what is seen counts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from pilothouse_agent.kernel.events import FileChanged
from support.fake_editor import NEVER, Editing, FakeEditor
from support.file_tools import FileTools
from support.kernel import soon
from support.plugin_editor import PluginEditor, beside_plugin

Json: TypeAlias = dict[str, Any]
MakeTools: TypeAlias = Callable[[Editing], Awaitable[FileTools]]

TEXT = "one\ntwo\n"


@pytest.fixture
def file(folder: Path) -> Path:
    path = folder / "a"
    path.write_bytes(TEXT.encode())
    return path


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def sent(editor: FakeEditor) -> list[list[Json]]:
    """The steps of each edit."""
    return [edit["edit"]["documentChanges"] for edit in editor.edits]


@pytest.mark.covers("R010", "R014")
@pytest.mark.parametrize("creates", ["buffer", "disk"])
async def test_a_new_file_is_made_and_filled_by_one_edit_and_saved(
    editor: PluginEditor, tools: FileTools, folder: Path, file: Path, creates: Any
) -> None:
    editor.open(file)
    editor.creates = creates
    result = await tools.run("write_file", path="new", content=TEXT)

    new = folder / "new"
    start = {"line": 0, "character": 0}
    text = {"range": {"start": start, "end": start}, "newText": TEXT}
    assert sent(editor) == [
        [
            {"kind": "create", "uri": new.as_uri()},
            {"textDocument": {"uri": new.as_uri(), "version": None}, "edits": [text]},
        ]
    ]
    assert (new.read_bytes(), len(editor.saves)) == (TEXT.encode(), 1 if creates == "buffer" else 0)
    assert result.effects == (FileChanged(str(new), "create", "editor", 2, 0, "call-1"),)
    assert (editor.buffer(file).text, editor.buffer(file).version) == (TEXT, 1)


async def test_an_empty_file_is_made_without_a_text(
    editor: PluginEditor, tools: FileTools, folder: Path
) -> None:
    await tools.write("new", "")

    assert sent(editor) == [[{"kind": "create", "uri": (folder / "new").as_uri()}]]
    assert (folder / "new").read_bytes() == b""


@pytest.mark.covers("R022")
@pytest.mark.parametrize("opened", [False, True])
async def test_a_file_is_deleted_by_the_editor_and_closed_with_it(
    editor: PluginEditor, tools: FileTools, folder: Path, file: Path, opened: bool
) -> None:
    if opened:
        editor.open(file)
    told = await tools.call("delete_file", path="a")

    assert sent(editor) == [[{"kind": "delete", "uri": file.as_uri()}]]
    assert (told, names(folder), editor.buffers) == ("Deleted a.", [], {})


@pytest.mark.covers("F3")
@pytest.mark.parametrize("opened", [False, True])
async def test_a_file_is_moved_by_the_editor_and_the_model_still_knows_it(
    editor: PluginEditor, tools: FileTools, folder: Path, file: Path, opened: bool
) -> None:
    if opened:
        editor.open(file)
    await tools.read("a")
    told = await tools.call("move_file", path="a", new_path="b")
    steps = sent(editor)
    await tools.write("b", "all new\n")

    move = {"kind": "rename", "oldUri": file.as_uri(), "newUri": (folder / "b").as_uri()}
    assert (told, steps, names(folder)) == ("Moved a to b.", [[move]], ["b"])
    assert editor.buffer(folder / "b").text == "all new\n"


@pytest.mark.covers("F6")
async def test_nothing_is_sent_for_what_may_not_be_done(
    editor: PluginEditor, tools: FileTools, folder: Path, file: Path
) -> None:
    (folder / "b").write_bytes(b"other\n")
    editor.type(editor.open(folder / "b"), 0, "mine ")
    refusals = [
        await tools.refused("move_file", path="a", new_path="b"),
        await tools.refused("move_file", path="a", new_path="a"),
        await tools.refused("delete_file", path="b"),
        await tools.refused("move_file", path="b", new_path="c"),
        await tools.refused("write_file", path="a", content="x\n"),
        await tools.refused("delete_file", path="c"),
    ]
    editor.close(editor.buffer(folder / "b"))
    refusals.append(await tools.refused("move_file", path="a", new_path="b"))

    unsaved = "has unsaved text in the editor, which would be lost. Nothing was done. Ask the user to save it"
    assert [refusals[0], *refusals[2:4]] == [f"b {unsaved} first."] * 3
    assert refusals[1] == "a and a are the same file. Nothing was moved."
    assert refusals[4].startswith("a was not replaced: it exists and has not been read.")
    assert refusals[5].startswith("c does not exist.")
    assert refusals[6] == "b exists already and was left as it is."
    assert (editor.edits, names(folder), file.read_text(encoding="utf-8")) == ([], ["a", "b"], TEXT)


async def test_links_other_files_and_those_in_new_folders_are_left_to_the_disk(
    editor: PluginEditor, tools: FileTools, folder: Path, file: Path
) -> None:
    (folder / "link").symlink_to("a")
    (folder / "gone").symlink_to("a")
    (folder / "binary").write_bytes(b"\0")
    (folder / "other").write_bytes(b"\0")
    await tools.call("delete_file", path="gone")
    await tools.call("move_file", path="link", new_path="link2")
    await tools.call("delete_file", path="other")
    await tools.call("move_file", path="binary", new_path="binary2")
    await tools.call("move_file", path="a", new_path="sub/a")
    await tools.write("deep/new", "x\n")
    await tools.write("windows", "x\r\n")

    assert editor.edits == []
    assert names(folder) == ["binary2", "deep", "deep/new", "link2", "sub", "sub/a", "windows"]


async def test_what_the_editor_does_not_declare_is_done_on_disk(
    tools_beside: MakeTools, folder: Path, file: Path
) -> None:
    async with beside_plugin(kinds=frozenset({"modify"})) as (beside, editor):
        tools = await tools_beside(beside)
        await tools.write("b", TEXT)
        await tools.call("move_file", path="b", new_path="c")
        await tools.call("delete_file", path="c")
        on_disk = len(editor.edits)
        await tools.edit("a", ("one", "1"))

        assert (on_disk, len(editor.edits), names(folder)) == (0, 1, ["a"])


CALLS: dict[str, tuple[str, Json, str, str]] = {
    "create": ("write_file", {"path": "new", "content": TEXT}, "new was not created", "the creation of new"),
    "rename": ("move_file", {"path": "a", "new_path": "b"}, "a was not moved to b", "the move of a"),
    "delete": ("delete_file", {"path": "a"}, "a was not deleted", "the deletion of a"),
}


@pytest.mark.covers("R020")
@pytest.mark.parametrize("opened", [False, True])
@pytest.mark.parametrize("kind", CALLS)
async def test_what_the_editor_refuses_is_not_done_on_disk_either(
    editor: PluginEditor, tools: FileTools, folder: Path, file: Path, kind: str, opened: bool
) -> None:
    async def refuse(editor: FakeEditor, params: Json) -> Json:
        return {"applied": False, "failureReason": "it is locked"}

    tool, arguments, undone, _ = CALLS[kind]
    if opened:
        editor.open(file)
    editor.on_apply = refuse
    told = await soon(tools.refused(tool, **arguments))
    nothing = names(folder)
    editor.on_apply = FakeEditor.honest
    await soon(tools.call(tool, **arguments))

    assert (told, nothing, len(editor.edits)) == (f"{undone}: it is locked. Nothing was done.", ["a"], 2)


async def _yes(editor: FakeEditor, params: Json) -> Json:
    return {"applied": True}


async def _never(editor: FakeEditor, params: Json) -> Any:
    return NEVER


UNSEEN = "the editor says that it was applied, but neither an open document nor the disk shows it"


@pytest.mark.covers("R019")
@pytest.mark.parametrize(("lie", "reason"), [(_yes, UNSEEN), (_never, "the editor did not answer")])
@pytest.mark.parametrize("kind", CALLS)
async def test_what_is_not_seen_is_not_taken_for_done(
    editor: PluginEditor, tools: FileTools, folder: Path, file: Path, kind: str, lie: Any, reason: str
) -> None:
    tool, arguments, _, what = CALLS[kind]
    editor.on_apply = lie
    told = await soon(tools.refused(tool, **arguments))

    assert told == f"Outcome unknown: {what} was sent, and {reason}. Read it again before it is changed."
    assert (names(folder), len(editor.edits), len(tools.queue)) == (["a"], 1, 0)
    assert (await soon(tools.refused(tool, **arguments))).startswith("An earlier write to ")


@pytest.mark.parametrize("kind", CALLS)
async def test_what_is_seen_is_done_whatever_the_answer(
    editor: PluginEditor, tools: FileTools, folder: Path, file: Path, kind: str
) -> None:
    async def done_and_refused(editor: FakeEditor, params: Json) -> Json:
        editor.taken(params)
        return {"applied": False}

    tool, arguments, _, _ = CALLS[kind]
    editor.on_apply = done_and_refused
    await soon(tools.call(tool, **arguments))

    assert names(folder) == {"create": ["a", "new"], "rename": ["b"], "delete": []}[kind]


@pytest.mark.parametrize("kind", CALLS)
async def test_what_comes_a_little_after_the_answer_is_waited_for(
    editor: PluginEditor, tools: FileTools, folder: Path, file: Path, kind: str
) -> None:
    async def later(editor: FakeEditor, params: Json) -> Json:
        asyncio.get_running_loop().call_later(0.02, editor.taken, params)
        return {"applied": True}

    tool, arguments, _, _ = CALLS[kind]
    editor.on_apply = later
    await soon(tools.call(tool, **arguments))

    assert names(folder) == {"create": ["a", "new"], "rename": ["b"], "delete": []}[kind]


async def test_a_file_made_by_others_at_that_moment_is_not_written_over(
    editor: PluginEditor, tools: FileTools, folder: Path
) -> None:
    async def theirs_first(editor: FakeEditor, params: Json) -> Any:
        (folder / "new").write_bytes(b"theirs\n")
        return editor.taken(params)

    editor.on_apply = theirs_first
    told = await soon(tools.refused("write_file", path="new", content=TEXT))

    assert told.startswith("new was not replaced: it exists and has not been read.")
    assert ((folder / "new").read_bytes(), len(editor.edits)) == (b"theirs\n", 1)


async def test_a_new_file_that_was_left_empty_is_not_called_written(
    editor: PluginEditor, tools: FileTools, folder: Path
) -> None:
    async def half(editor: FakeEditor, params: Json) -> Any:
        steps = params["edit"]["documentChanges"]
        return editor.taken({"edit": {"documentChanges": steps[:1]}})

    editor.on_apply = half
    told = await soon(tools.refused("write_file", path="new", content=TEXT))

    assert told.startswith(f"Outcome unknown: the creation of new was sent, and {UNSEEN}.")
    assert (folder / "new").read_bytes() == b""


@pytest.mark.covers("F6")
@pytest.mark.parametrize("kind", ["rename", "delete"])
async def test_what_the_user_types_before_the_editor_comes_to_it_is_kept(
    editor: PluginEditor, tools: FileTools, folder: Path, file: Path, kind: str
) -> None:
    async def typed_first(editor: FakeEditor, params: Json) -> Any:
        editor.type(editor.buffers[file.as_uri()], 0, "mine ")
        return editor.taken(params)

    editor.open(file)
    editor.on_apply = typed_first
    tool, arguments, _, _ = CALLS[kind]
    told = await soon(tools.refused(tool, **arguments))

    assert told.startswith("a has unsaved text in the editor, which would be lost.")
    assert (editor.buffer(file).text, names(folder)) == (f"mine {TEXT}", ["a"])
