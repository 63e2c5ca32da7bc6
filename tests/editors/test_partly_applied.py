"""An editor makes a part of an edit: the model is told, the change is an event, and undo knows of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from pilothouse_agent.files.workspace import Workspace
from pilothouse_agent.kernel.events import FileChanged, MessageEnd
from pilothouse_agent.kernel.json_types import JsonValue
from pilothouse_agent.kernel.messages import ToolResultMessage, text_of
from pilothouse_agent.kernel.tooling import ToolError
from support.fake_editor import Editing, FakeEditor, Habits, Refused, editing
from support.file_tools import FileTools
from support.kernel import asks, bench, call, says
from support.undo import Runs

Json: TypeAlias = dict[str, Any]
MakeTools: TypeAlias = Callable[[Editing], Awaitable[FileTools]]

TEXT = "one\ntwo\nthree\nfour\nfive\n"
BOTH: JsonValue = [{"old_text": "one", "new_text": "1"}, {"old_text": "five\n", "new_text": "5\n6\n"}]
ANSWERS: dict[str, Any] = {
    "no": {"applied": False, "failureReason": "It is stopped"},
    "an error": Refused("It is stopped"),
}
TOLD = (
    "The editor made only a part of the edit of a, and refused the rest: It is stopped. Read it again before "
    "it is changed."
)


def making(part: slice, answer: Any, *, typed: str = "") -> Callable[[FakeEditor, Json], Awaitable[Any]]:
    async def apply(editor: FakeEditor, params: Json) -> Any:
        (entry,) = params["edit"]["documentChanges"]
        entry["edits"] = entry["edits"][part]
        buffer = editor.apply(params)
        if typed:
            editor.type(buffer, buffer.text.index("three"), typed)
        if isinstance(answer, Refused):
            raise answer
        return answer

    return apply


@pytest.mark.covers("R211")
@pytest.mark.parametrize("told", ["before", "after"])
@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize(
    ("part", "made", "counts"),
    [
        (slice(0, 1), TEXT.replace("one", "1"), (1, 1)),
        (slice(1, 2), TEXT.replace("five\n", "5\n6\n"), (2, 1)),
    ],
)
async def test_the_model_reads_what_was_made_and_the_change_is_an_event(
    folder: Path,
    tools_beside: MakeTools,
    part: slice,
    made: str,
    counts: tuple[int, int],
    answer: str,
    told: Any,
) -> None:
    (folder / "a").write_text(TEXT, encoding="utf-8")
    async with editing(habits=Habits(told=told)) as beside:
        buffer = beside.editor.open(folder / "a")
        beside.editor.on_apply = making(part, ANSWERS[answer])
        tools = await tools_beside(beside)
        edit = call("c1", "edit_file", {"path": "a", "edits": BOTH})
        b = bench(asks(edit), says("done"), tools=tools.all, files=tools.files)
        await b.run("go")

        results = [each.message for each in b.events.of(MessageEnd)]
        assert [text_of(each.content) for each in results if isinstance(each, ToolResultMessage)] == [TOLD]
        assert b.events.of(FileChanged) == [FileChanged(str(folder / "a"), "modify", "editor", *counts, "c1")]
        assert (buffer.text, len(beside.editor.edits)) == (made, 1)


@pytest.mark.covers("R211")
@pytest.mark.parametrize("typed", ["", "mine\n"])
@pytest.mark.parametrize("answer", [ANSWERS["no"], {"applied": True}])
async def test_undo_takes_back_what_was_made_and_no_more(
    folder: Path, tmp_path: Path, answer: Any, typed: str
) -> None:
    (folder / "a").write_text(TEXT, encoding="utf-8")
    async with editing() as beside:
        buffer = beside.editor.open(folder / "a")
        workspace = await asyncio.to_thread(Workspace, [folder])
        runs = Runs(folder, tmp_path, open_files=beside.files(workspace))
        beside.editor.on_apply = making(slice(0, 1), answer, typed=typed)
        path, scope = str(folder / "a"), runs.scope
        with pytest.raises(ToolError, match="Read it again before it is changed"):
            await runs.files.edit(path, lambda _: TEXT.replace("one", "1").replace("five", "5"), scope)
        beside.editor.on_apply = FakeEditor.honest
        undone = await runs.undo("r1", merge=True)

        assert [file.action for file in undone.files] == ["restored"]
        assert buffer.text == TEXT.replace("three", f"{typed}three")


@pytest.mark.covers("R211")
async def test_a_refusal_beside_typing_is_no_part_of_the_edit(folder: Path, tools_beside: MakeTools) -> None:
    (folder / "a").write_text(TEXT, encoding="utf-8")
    async with editing() as beside:
        buffer = beside.editor.open(folder / "a")
        beside.editor.on_apply = making(slice(0, 0), ANSWERS["no"], typed="mine\n")
        tools = await tools_beside(beside)

        assert await tools.edit_refused("a", ("one", "1"), ("five", "5")) == (
            "a was not changed: It is stopped. The edit has not been made."
        )
        assert set(buffer.text.splitlines()) == {*TEXT.splitlines(), "mine"}
