"""What was approved is what is done, however the file changes meanwhile (kernel.md P3)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from pilothouse_agent.files.disk_files import DiskFiles
from pilothouse_agent.files.queue import WriteQueue
from pilothouse_agent.files.workspace import Workspace
from pilothouse_agent.kernel.questions import Answer, Question
from pilothouse_agent.kernel.request import Delta
from pilothouse_agent.tools.files.delete_file import DeleteFileTool
from pilothouse_agent.tools.files.edit_file import EditFileTool
from pilothouse_agent.tools.files.write_file import WriteFileTool
from support.kernel import Bench, asks, bench, call, says
from support.permissions import ALLOW, REJECT, FakePermissions

TEN = "".join(f"{number}\n" for number in range(1, 11))


class Thinking:
    """A user who does something to the files while the dialog is open."""

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


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace([tmp_path])


def at_work(workspace: Workspace, user: Thinking, *calls: Delta) -> Bench:
    files = DiskFiles(WriteQueue(), display=workspace.display)
    tools = [kind(workspace, files) for kind in (WriteFileTool, EditFileTool, DeleteFileTool)]
    turns = asks(*calls), says("done")
    return bench(*turns, tools=tools, files=files, permissions=FakePermissions(), approver=user)


def edit(call_id: str, old: str, new: str) -> Delta:
    return call(call_id, "edit_file", {"path": "a", "old_text": old, "new_text": new})


def nothing() -> None:
    pass


@pytest.mark.covers("P3")
async def test_a_change_elsewhere_in_the_file_does_not_ask_again(
    tmp_path: Path, workspace: Workspace
) -> None:
    file = tmp_path / "a"
    file.write_bytes(TEN.encode())
    user = Thinking((lambda: file.write_bytes(b"0\n" + TEN.encode()), ALLOW))

    await at_work(workspace, user, edit("c1", "8\n", "eight\n")).run("go")

    assert user.shown == ["-8\n+eight\n"]
    assert file.read_bytes() == b"0\n" + TEN.replace("8\n", "eight\n").encode()


@pytest.mark.covers("P3")
async def test_a_change_beside_the_approved_lines_asks_with_the_new_diff(
    tmp_path: Path, workspace: Workspace
) -> None:
    file = tmp_path / "a"
    file.write_bytes(TEN.encode())
    changed = TEN.replace("7\n", "seven\n")
    user = Thinking((lambda: file.write_bytes(changed.encode()), ALLOW), (nothing, ALLOW))

    await at_work(workspace, user, edit("c1", "8\n", "eight\n")).run("go")

    assert user.shown == ["-8\n+eight\n", "-8\n+eight\n"]
    assert file.read_bytes() == changed.replace("8\n", "eight\n").encode()


@pytest.mark.covers("P3")
async def test_a_no_to_the_second_question_leaves_the_file_as_it_is(
    tmp_path: Path, workspace: Workspace
) -> None:
    file = tmp_path / "a"
    file.write_bytes(TEN.encode())
    changed = TEN.replace("7\n", "seven\n").encode()
    user = Thinking((lambda: file.write_bytes(changed), ALLOW), (nothing, REJECT))
    b = at_work(workspace, user, edit("c1", "8\n", "eight\n"))

    await b.run("go")

    assert file.read_bytes() == changed
    assert b.shown[2:] == ["R c1:Denied by the user.!", "A:done"]


@pytest.mark.covers("P3", "R013")
async def test_the_second_edit_of_a_batch_is_shown_on_the_first(tmp_path: Path, workspace: Workspace) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"one\ntwo\n")
    user = Thinking((nothing, ALLOW), (nothing, ALLOW))

    await at_work(workspace, user, edit("c1", "one", "1"), edit("c2", "1\ntwo", "1\n2")).run("go")

    assert user.shown == ["-one\n+1\n", "-two\n+2\n"]
    assert file.read_bytes() == b"1\n2\n"


@pytest.mark.covers("P3")
async def test_a_new_file_that_appears_meanwhile_is_not_overwritten_unseen(
    tmp_path: Path, workspace: Workspace
) -> None:
    file = tmp_path / "a"
    user = Thinking((lambda: file.write_bytes(b"mine\n"), ALLOW))
    b = at_work(workspace, user, call("c1", "write_file", {"path": "a", "content": "theirs\n"}))

    await b.run("go")

    assert file.read_bytes() == b"mine\n"
    assert b.shown[2].startswith("R c1:a was not replaced: it exists and has not been read.")


@pytest.mark.covers("P3")
async def test_a_text_that_nobody_has_seen_is_not_deleted_without_a_question(
    tmp_path: Path, workspace: Workspace
) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"one\n")
    user = Thinking((lambda: file.write_bytes(b"one\nmine\n"), ALLOW), (nothing, REJECT))
    b = at_work(workspace, user, call("c1", "delete_file", {"path": "a"}))

    await b.run("go")

    assert user.shown == ["-one\n", "-one\n-mine\n"]
    assert file.read_bytes() == b"one\nmine\n"
    assert b.shown[2:] == ["R c1:Denied by the user.!", "A:done"]


@pytest.mark.covers("P3")
async def test_a_file_is_deleted_as_an_approved_edit_of_the_same_batch_has_left_it(
    tmp_path: Path, workspace: Workspace
) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"one\r\n")
    user = Thinking((nothing, ALLOW), (nothing, ALLOW))
    deleting = call("c2", "delete_file", {"path": "a"})

    await at_work(workspace, user, edit("c1", "one", "1"), deleting).run("go")

    assert user.shown == ["-one\r\n+1\r\n", "-1\r\n"]
    assert not file.exists()
