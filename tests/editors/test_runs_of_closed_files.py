"""Approvals, aborts and undo of runs that change files which are not open, with an editor that takes them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from pilothouse_agent.files.uris import uri_to_path
from pilothouse_agent.files.workspace import Workspace
from pilothouse_agent.kernel.ports import Approver
from pilothouse_agent.kernel.questions import Answer, Question
from pilothouse_agent.kernel.request import Delta
from support.fake_editor import Editing, FakeEditor, Refused
from support.file_tools import FileTools
from support.kernel import Bench, Gate, Step, asks, bench, call, says, soon
from support.permissions import ALLOW, REJECT, FakePermissions, FakeUser
from support.plugin_editor import PluginEditor
from support.undo import Runs

Json: TypeAlias = dict[str, Any]

TEN = "".join(f"{number}\n" for number in range(1, 11))
EIGHT = "-8\n+eight\n"
DONE = TEN.replace("8\n", "eight\n")


@pytest.fixture
def file(folder: Path) -> Path:
    (folder / "a").write_text(TEN, encoding="utf-8")
    return folder / "a"


class Thinking:
    """A user who does something while the dialog is open."""

    def __init__(self, *answers: tuple[Callable[[], object], Answer]) -> None:
        self.shown: list[str] = []
        self._answers = list(answers)

    async def ask(self, question: Question) -> Answer:
        assert question.preview is not None
        lines = [line for diff in question.preview.diffs for hunk in diff.hunks for line in hunk.lines]
        self.shown.append("".join(line for line in lines if line[0] in "+-"))
        act, answer = self._answers.pop(0)
        await asyncio.to_thread(act)
        return answer


def edit(old: str, new: str) -> Delta:
    return call("c1", "edit_file", {"path": "a", "old_text": old, "new_text": new})


def at_work(tools: FileTools, user: Approver | None, *turns: list[Step]) -> Bench:
    permissions = FakePermissions() if user is not None else None
    return bench(*turns, tools=tools.all, files=tools.files, permissions=permissions, approver=user)


def nothing() -> None:
    pass


@pytest.mark.covers("P3")
async def test_the_change_that_was_shown_is_made_wherever_its_lines_have_gone(
    editor: PluginEditor, tools: FileTools, file: Path
) -> None:
    user = Thinking((lambda: file.write_text(f"0\n{TEN}", encoding="utf-8"), ALLOW))
    await at_work(tools, user, asks(edit("8\n", "eight\n")), says("done")).run("go")

    assert (user.shown, file.read_text(encoding="utf-8")) == ([EIGHT], f"0\n{DONE}")
    assert (len(editor.edits), len(editor.saves)) == (1, 1)


@pytest.mark.covers("P3")
@pytest.mark.parametrize(("answer", "new", "sent"), [(ALLOW, "eight", 1), (REJECT, "8", 0)])
async def test_a_change_beside_the_approved_lines_asks_before_anything_is_sent(
    editor: PluginEditor, tools: FileTools, file: Path, answer: Answer, new: str, sent: int
) -> None:
    theirs = TEN.replace("7", "mine 7")
    user = Thinking((lambda: file.write_text(theirs, encoding="utf-8"), ALLOW), (nothing, answer))
    await at_work(tools, user, asks(edit("8\n", "eight\n")), says("done")).run("go")

    assert user.shown == [EIGHT, EIGHT]
    assert (file.read_text(encoding="utf-8"), len(editor.edits)) == (theirs.replace("8", new), sent)


@pytest.mark.covers("P3", "R001")
async def test_typing_beside_the_approved_lines_once_the_edit_is_sent_asks_again(
    editor: PluginEditor, tools: FileTools, file: Path
) -> None:
    async def typed_first(editor: FakeEditor, params: Json) -> Any:
        if len(editor.edits) == 1:
            editor.type(editor.open(file), TEN.index("7"), "mine ")
        return await editor.honest(params)

    editor.on_apply = typed_first
    user = Thinking((nothing, ALLOW), (nothing, ALLOW))
    await at_work(tools, user, asks(edit("8\n", "eight\n")), says("done")).run("go")

    assert user.shown == [EIGHT, EIGHT]
    assert editor.buffer(file).text == TEN.replace("7\n8", "mine 7\neight")
    assert file.read_text(encoding="utf-8") == TEN


@pytest.mark.covers("R016", "P4")
async def test_a_question_without_an_answer_sends_nothing(
    editor: PluginEditor, tools: FileTools, file: Path
) -> None:
    await at_work(tools, FakeUser(None), asks(edit("8\n", "eight\n")), says("done")).run("go")

    assert (file.read_text(encoding="utf-8"), editor.edits) == (TEN, [])


async def refuse(editor: FakeEditor, params: Json) -> Json:
    raise Refused("it is locked")


async def lie(editor: FakeEditor, params: Json) -> Json:
    return {"applied": True}


OUTCOMES = [
    (FakeEditor.honest, DONE, "R c1:Edited a: 1 line added, 1 removed."),
    (refuse, TEN, "R c1:a was not changed: it is locked. Nothing was done."),
    (lie, TEN, "R c1:Outcome unknown: an edit of a was sent, and the editor says that it was applied, but"),
]


@pytest.mark.covers("F4", "T7", "K104")
@pytest.mark.parametrize(("then", "text", "told"), OUTCOMES)
async def test_an_abort_waits_for_an_edit_that_was_sent_and_says_what_became_of_it(
    editor: PluginEditor, tools: FileTools, file: Path, then: Any, text: str, told: str
) -> None:
    gate = Gate()

    async def held(editor: FakeEditor, params: Json) -> Any:
        await gate()
        return await then(editor, params)

    editor.on_apply = held
    b = at_work(tools, None, asks(edit("8\n", "eight\n")))
    run = b.agent.prompt("go")
    await gate.arrival()
    b.agent.abort()
    queued = len(tools.queue)
    gate.open()
    result = await soon(run)

    assert (queued, len(tools.queue), result.stop_reason, len(editor.edits)) == (1, 0, "aborted", 1)
    assert b.shown[2].startswith(told)
    assert file.read_text(encoding="utf-8") == text


@pytest.mark.covers("F4")
async def test_a_call_that_is_cancelled_in_mid_edit_leaves_the_file_to_be_read_again(
    editor: PluginEditor, tools: FileTools, file: Path
) -> None:
    gate = Gate()

    async def held(editor: FakeEditor, params: Json) -> Any:
        await gate()
        return await editor.honest(params)

    editor.on_apply = held
    editing_it = asyncio.create_task(tools.edit("a", ("8\n", "eight\n")))
    await gate.arrival()
    editing_it.cancel()
    with pytest.raises(asyncio.CancelledError):
        await soon(editing_it)
    queued = len(tools.queue)
    told = await tools.edit_refused("a", ("8\n", "eight\n"))
    gate.open()

    assert queued == 0
    assert told.startswith("An earlier write to a had an unknown outcome.")


@pytest.fixture
async def runs(plugin: tuple[Editing, PluginEditor], folder: Path, tmp_path: Path) -> Runs:
    open_files = plugin[0].files(await asyncio.to_thread(Workspace, [folder]))
    return await asyncio.to_thread(Runs, folder, tmp_path / "state", open_files)


BEFORE = {"a": TEN.encode(), "b": b"b\n", "c": b"c\r\nc\r\n"}
AFTER = {"a": DONE.encode(), "moved": b"b\n", "new": b"new\n"}
ACTIONS = {"a": "restored", "b": "moved", "c": "created", "new": "deleted"}


@pytest.mark.parametrize(
    ("during", "afterwards"), [("editor", "editor"), ("editor", "disk"), ("disk", "auto")]
)
@pytest.mark.parametrize("closing", [False, True])
async def test_a_run_goes_back_by_the_route_of_the_moment(
    plugin: tuple[Editing, PluginEditor], runs: Runs, during: Any, afterwards: Any, closing: bool
) -> None:
    beside, editor = plugin
    for name, data in BEFORE.items():
        (runs.folder / name).write_bytes(data)
    beside.route = during
    await runs.edit("a", "8\n", "eight\n")
    await runs.write("new", "new\n")
    await runs.move("b", "moved")
    await runs.delete("c")
    held, sent = runs.held(), len(editor.edits)
    for buffer in list(editor.buffers.values()) if closing else []:
        editor.close(buffer)
    beside.route = afterwards
    undone = await runs.undo()
    for buffer in (each for each in editor.buffers.values() if Path(uri_to_path(each.uri)).exists()):
        editor.write(buffer)

    assert (held, sent) == (AFTER, 4 if during == "editor" else 0)
    assert (runs.actions(undone), runs.held()) == (ACTIONS, BEFORE)


async def test_what_was_not_saved_goes_back_in_the_editor(
    plugin: tuple[Editing, PluginEditor], runs: Runs, file: Path
) -> None:
    editor = plugin[1]
    editor.on_save = refuse
    await runs.edit("a", "8\n", "eight\n")
    unsaved = (editor.buffer(file).text, file.read_text(encoding="utf-8"))
    undone = await runs.undo()

    assert (unsaved, editor.buffer(file).text) == ((DONE, TEN), TEN)
    assert runs.actions(undone) == {"a": "restored"}


async def test_a_run_goes_back_in_an_editor_that_tells_other_line_ends(
    plugin: tuple[Editing, PluginEditor], runs: Runs, file: Path
) -> None:
    editor = plugin[1]
    editor.keeps_line_ends = False
    file.write_bytes(b"1\r\n2\r\n")
    await runs.edit("a", "2", "two")
    changed = file.read_bytes()
    undone = await runs.undo()
    editor.write(editor.buffer(file))

    assert (changed, runs.actions(undone)) == (b"1\r\ntwo\r\n", {"a": "restored"})
    assert file.read_bytes() == b"1\r\n2\r\n"
