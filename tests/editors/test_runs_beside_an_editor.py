"""Approvals and aborts of runs whose files are open in an editor."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from pilothouse_agent.kernel.ports import Approver
from pilothouse_agent.kernel.questions import Answer, Question
from pilothouse_agent.kernel.request import Delta
from support.fake_editor import Buffer, Editing, FakeEditor, editing
from support.file_tools import FileTools
from support.kernel import Bench, Gate, Step, asks, bench, call, says, soon
from support.permissions import ALLOW, REJECT, FakePermissions, FakeUser

Json: TypeAlias = dict[str, Any]

TEN = "".join(f"{number}\n" for number in range(1, 11))


@pytest.fixture
async def beside() -> AsyncIterator[Editing]:
    async with editing() as beside:
        yield beside


@pytest.fixture
async def tools(beside: Editing, tools_beside: Callable[[Editing], Awaitable[FileTools]]) -> FileTools:
    return await tools_beside(beside)


@pytest.fixture
async def buffer(beside: Editing, folder: Path) -> Buffer:
    (folder / "a").write_text(TEN, encoding="utf-8")
    return beside.editor.open(folder / "a")


class Thinking:
    """A user who does something in the editor while the dialog is open."""

    def __init__(self, *answers: tuple[Callable[[], object], Answer]) -> None:
        self.shown: list[str] = []
        self._answers = list(answers)

    async def ask(self, question: Question) -> Answer:
        assert question.preview is not None
        lines = [line for diff in question.preview.diffs for hunk in diff.hunks for line in hunk.lines]
        self.shown.append("".join(line for line in lines if line[0] in "+-"))
        act, answer = self._answers.pop(0)
        act()
        return answer


def edit(call_id: str, old: str, new: str) -> Delta:
    return call(call_id, "edit_file", {"path": "a", "old_text": old, "new_text": new})


def at_work(tools: FileTools, user: Approver | None, *turns: list[Step]) -> Bench:
    permissions = FakePermissions() if user is not None else None
    return bench(*turns, tools=tools.all, files=tools.files, permissions=permissions, approver=user)


def nothing() -> None:
    pass


@pytest.mark.covers("P3", "R013")
async def test_the_diff_shown_is_that_of_the_unsaved_text(
    beside: Editing, buffer: Buffer, tools: FileTools
) -> None:
    beside.editor.type(buffer, TEN.index("8"), "mine ")
    user = Thinking((nothing, ALLOW))
    await at_work(tools, user, asks(edit("c1", "8\n", "eight\n")), says("done")).run("go")

    assert user.shown == ["-mine 8\n+mine eight\n"]
    assert buffer.text == TEN.replace("8\n", "mine eight\n")


@pytest.mark.covers("P3", "R013")
async def test_the_diff_of_a_file_that_is_not_open_is_that_of_the_disk(
    folder: Path, beside: Editing, buffer: Buffer, tools: FileTools
) -> None:
    (folder / "b").write_bytes(b"1\n2\n")
    user = Thinking((nothing, ALLOW))
    other = call("c1", "edit_file", {"path": "b", "old_text": "2", "new_text": "3"})
    await at_work(tools, user, asks(other), says("done")).run("go")

    assert user.shown == ["-2\n+3\n"]
    assert ((folder / "b").read_bytes(), beside.editor.edits) == (b"1\n3\n", [])


@pytest.mark.covers("P3")
async def test_typing_elsewhere_while_the_dialog_is_open_does_not_ask_again(
    beside: Editing, buffer: Buffer, tools: FileTools
) -> None:
    user = Thinking((lambda: beside.editor.type(buffer, 0, "0\n"), ALLOW))
    await at_work(tools, user, asks(edit("c1", "8\n", "eight\n")), says("done")).run("go")

    assert user.shown == ["-8\n+eight\n"]
    assert buffer.text == "0\n" + TEN.replace("8\n", "eight\n")


@pytest.mark.covers("P3")
@pytest.mark.parametrize(("answer", "new"), [(ALLOW, "eight"), (REJECT, "8")])
async def test_typing_beside_the_approved_lines_asks_with_the_new_diff(
    beside: Editing, buffer: Buffer, tools: FileTools, answer: Answer, new: str
) -> None:
    user = Thinking((lambda: beside.editor.type(buffer, TEN.index("7"), "mine "), ALLOW), (nothing, answer))
    await at_work(tools, user, asks(edit("c1", "8\n", "eight\n")), says("done")).run("go")

    assert user.shown == ["-8\n+eight\n", "-8\n+eight\n"]
    assert buffer.text == TEN.replace("7\n8\n", f"mine 7\n{new}\n")


@pytest.mark.covers("P3")
async def test_typing_between_the_approval_and_the_edit_asks_again_too(
    beside: Editing, buffer: Buffer, tools: FileTools
) -> None:
    async def typed_first(editor: FakeEditor, params: Json) -> Any:
        if len(editor.edits) == 1:
            editor.type(buffer, TEN.index("7"), "mine ")
        return await editor.honest(params)

    beside.editor.on_apply = typed_first
    user = Thinking((nothing, ALLOW), (nothing, ALLOW))
    await at_work(tools, user, asks(edit("c1", "8\n", "eight\n")), says("done")).run("go")

    assert user.shown == ["-8\n+eight\n", "-8\n+eight\n"]
    assert buffer.text == TEN.replace("7\n8\n", "mine 7\neight\n")


@pytest.mark.covers("R016", "P4")
async def test_a_question_without_an_answer_changes_nothing_in_the_editor(
    beside: Editing, buffer: Buffer, tools: FileTools
) -> None:
    b = at_work(tools, FakeUser(None), asks(edit("c1", "1\n", "one\n")), says("done"))
    await b.run("go")
    thinking = FakeUser()
    aborted = at_work(tools, thinking, asks(edit("c1", "1\n", "one\n")))
    run = aborted.agent.prompt("go")
    await soon(thinking.asked.wait())
    aborted.agent.abort()
    result = await soon(run)

    assert (result.stop_reason, buffer.text, beside.editor.edits) == ("aborted", TEN, [])


@pytest.mark.covers("R017")
async def test_an_edit_of_text_that_is_not_there_any_more_is_refused_before_the_user_is_asked(
    beside: Editing, buffer: Buffer, tools: FileTools
) -> None:
    async def changed() -> None:
        beside.editor.reset(buffer, "0\n1\n2\n")

    user = FakeUser(ALLOW)
    reading = asks(call("c1", "read_file", {"path": "a"}))
    permissions = FakePermissions(read_file="allow")
    b = bench(
        reading,
        [changed, *asks(edit("c2", "1\n2\n3", "x"))],
        says("done"),
        tools=tools.all,
        files=tools.files,
        permissions=permissions,
        approver=user,
    )
    await b.run("go")

    assert (user.questions, buffer.text, beside.editor.edits) == ([], "0\n1\n2\n", [])
    assert b.shown[4].startswith("R c2:old_text is not in a.")


class Held:
    """An editor that takes its time with the first edit."""

    def __init__(self, then: Callable[[FakeEditor, Json], Awaitable[Any]]) -> None:
        self.gate = Gate()
        self._then = then

    async def __call__(self, editor: FakeEditor, params: Json) -> Any:
        await self.gate()
        return await self._then(editor, params)


async def refuse(editor: FakeEditor, params: Json) -> Json:
    return {"applied": False, "failureReason": "read-only"}


async def lie(editor: FakeEditor, params: Json) -> Json:
    return {"applied": True}


OUTCOMES = [
    (FakeEditor.honest, TEN.replace("1\n2", "one\n2"), "R c1:Edited a: 1 line added, 1 removed."),
    (
        refuse,
        TEN,
        "R c1:a was not changed: read-only, and the run was aborted before another try. The edit has not",
    ),
    (
        lie,
        TEN,
        "R c1:Outcome unknown: an edit of a was sent, and the editor says that it was applied, but its",
    ),
]


@pytest.mark.covers("F4", "T7", "K104")
@pytest.mark.parametrize(("then", "text", "told"), OUTCOMES)
async def test_an_abort_waits_for_an_edit_that_was_sent_and_says_what_became_of_it(
    beside: Editing, buffer: Buffer, tools: FileTools, then: Any, text: str, told: str
) -> None:
    held = Held(then)
    beside.editor.on_apply = held
    b = at_work(tools, None, asks(edit("c1", "1\n2", "one\n2")))
    run = b.agent.prompt("go")
    await held.gate.arrival()
    b.agent.abort()
    queued = len(tools.queue)
    held.gate.open()
    result = await soon(run)

    assert (queued, len(tools.queue), result.stop_reason, len(beside.editor.edits)) == (1, 0, "aborted", 1)
    assert b.shown[2].startswith(told)
    assert buffer.text == text


async def waiting_for_its_turn(b: Bench, path: Path) -> None:
    while str(path) not in b.agent.state.pending_writes:  # noqa: ASYNC110 - writes are listed, not announced
        await asyncio.sleep(0)


@pytest.mark.covers("K105")
async def test_an_edit_that_waits_for_its_turn_at_an_abort_is_never_sent(
    beside: Editing, buffer: Buffer, tools: FileTools, folder: Path
) -> None:
    held = Held(FakeEditor.honest)
    beside.editor.on_apply = held
    first = asyncio.create_task(tools.edit("a", ("1\n2", "one\n2")))
    await held.gate.arrival()
    b = at_work(tools, None, asks(edit("c1", "3", "three")))
    run = b.agent.prompt("go")
    await soon(waiting_for_its_turn(b, folder / "a"))
    b.agent.abort()
    result = await soon(run)
    held.gate.open()
    await soon(first)

    assert (result.stop_reason, len(beside.editor.edits)) == ("aborted", 1)
    assert b.shown[2].startswith("R c1:Aborted")
    assert buffer.text == TEN.replace("1\n2", "one\n2")
