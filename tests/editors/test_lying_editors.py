"""Whatever an editor answers to an edit: a clear result, a free queue, nothing twice, nothing half."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from pilothouse_server.client.clients import ClientProfile
from support.fake_editor import NEVER, Buffer, Editing, FakeEditor, Habits, Refused, editing
from support.file_tools import FileTools
from support.kernel import soon

Json: TypeAlias = dict[str, Any]
MakeTools: TypeAlias = Callable[[Editing], Awaitable[FileTools]]

TEXT = "one\ntwo\nthree\n"
DONE = "one\n2\n2b\nthree\n"
EDIT = ("two\n", "2\n2b\n")


class Case:
    """One open file `a`, and an edit of it that inserts a line: twice would be seen."""

    def __init__(self, beside: Editing, tools: FileTools, buffer: Buffer, path: Path) -> None:
        self.beside, self.tools, self.buffer, self.path = beside, tools, buffer, path

    async def edited(self) -> str:
        return (await soon(self.tools.edit("a", EDIT))).splitlines()[0]

    async def refused(self) -> str:
        return await soon(self.tools.edit_refused("a", EDIT))

    async def still_works(self) -> None:
        """The queue is free, and another edit lands once the editor is honest; the disk was left alone."""
        self.beside.editor.on_apply = FakeEditor.honest
        assert len(self.tools.queue) == 0
        await soon(self.tools.edit("a", ("one", "1")))
        assert self.buffer.text.startswith("1\n")
        assert self.beside.text(self.buffer) == (self.buffer.text, None)
        assert self.path.read_text(encoding="utf-8") == TEXT


@pytest.fixture
def case(folder: Path, tools_beside: MakeTools) -> Any:
    @asynccontextmanager
    async def opened(habits: Habits | None = None) -> AsyncGenerator[Case]:
        path = folder / "a"
        path.write_text(TEXT, encoding="utf-8")
        async with editing(habits=habits) as beside:
            buffer = beside.editor.open(path)
            yield Case(beside, await tools_beside(beside), buffer, path)

    return opened


async def _applied_and(editor: FakeEditor, params: Json, answer: Any) -> Any:
    editor.apply(params)
    return answer


SEEN: dict[str, tuple[Habits, Callable[[FakeEditor, Json], Any]]] = {
    "honest, told before": (Habits(), lambda e, p: e.honest(p)),
    "honest, told after": (Habits(told="after"), lambda e, p: e.honest(p)),
    "null": (Habits(told="after"), lambda e, p: _applied_and(e, p, None)),
    "empty": (Habits(told="after"), lambda e, p: _applied_and(e, p, {})),
    "no": (Habits(told="after"), lambda e, p: _applied_and(e, p, {"applied": False})),
    "twice": (Habits(), lambda e, p: _applied_and(e, p, [{"applied": True}, {"applied": False}])),
    "nothing": (Habits(), lambda e, p: _applied_and(e, p, NEVER)),
    "all the text": (Habits(merged="whole", told="after"), lambda e, p: e.honest(p)),
}


@pytest.mark.parametrize("how", SEEN)
async def test_an_edit_that_is_seen_is_made_whatever_the_answer(case: Any, how: str) -> None:
    habits, on_apply = SEEN[how]
    async with case(habits) as c:
        c.beside.editor.on_apply = on_apply

        assert await c.edited() == "Edited a: 2 lines added, 1 removed."
        assert (c.buffer.text, len(c.beside.editor.edits)) == (DONE, 1)
        await c.still_works()


async def _yes(editor: FakeEditor, params: Json) -> Json:
    return {"applied": True}


async def _nonsense(editor: FakeEditor, params: Json) -> Any:
    return {"applied": "yes"}


async def _null(editor: FakeEditor, params: Json) -> None:
    return None


async def _never(editor: FakeEditor, params: Json) -> Any:
    return NEVER


UNKNOWN = {
    "yes": (_yes, "the editor says that it was applied, but its text has not changed"),
    "nonsense": (_nonsense, "the editor did not say whether it was applied"),
    "null": (_null, "the editor did not say whether it was applied"),
    "nothing": (_never, "the editor did not answer"),
}


@pytest.mark.covers("R019", "K113")
@pytest.mark.parametrize("how", UNKNOWN)
async def test_an_edit_that_is_not_seen_is_not_taken_for_made_nor_sent_again(case: Any, how: str) -> None:
    on_apply, reason = UNKNOWN[how]
    async with case() as c:
        c.beside.editor.on_apply = on_apply

        assert await c.refused() == (
            f"Outcome unknown: an edit of a was sent, and {reason}. It is not changed again until the editor "
            "has told its text. Read it before going on."
        )
        assert await c.refused() == (
            f"The editor's text of a is not known for certain: an edit was sent, and {reason}. Ask the user "
            "to save or reopen it."
        )
        assert (c.buffer.text, len(c.beside.editor.edits)) == (TEXT, 1)
        c.beside.editor.type(c.buffer, 0, "x\n")
        c.beside.editor.type(c.buffer, 0, "", over=2)
        await c.still_works()


@pytest.mark.covers("K113")
async def test_an_edit_that_arrives_after_it_was_given_up_is_in_the_text_of_the_next(case: Any) -> None:
    async with case() as c:
        c.beside.editor.on_apply = _never
        await c.refused()
        c.beside.editor.apply(c.beside.editor.edits[0])

        assert "new_text is there already, in line 2" in await c.refused()
        assert c.buffer.text == DONE
        await c.still_works()


@pytest.mark.covers("R020", "K106")
@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"applied": False}, "the editor refused without a reason"),
        ({"applied": False, "failureReason": "read-only"}, "read-only"),
        (Refused("requires version 15"), "requires version 15"),
    ],
)
async def test_a_refusal_without_a_newer_text_is_tried_once_more_and_then_believed(
    case: Any, answer: Any, reason: str
) -> None:
    async def refuse(editor: FakeEditor, params: Json) -> Any:
        if isinstance(answer, Refused):
            raise answer
        return answer

    async with case() as c:
        c.beside.editor.on_apply = refuse

        assert await c.refused() == f"a was not changed: {reason}. The edit has not been made."
        assert (c.buffer.text, len(c.beside.editor.edits)) == (TEXT, 2)
        assert c.beside.text(c.buffer) == (TEXT, None)
        await c.still_works()


@pytest.mark.covers("R020")
async def test_a_refusal_that_was_a_mood_costs_nothing_but_a_try(case: Any) -> None:
    async def moody(editor: FakeEditor, params: Json) -> Any:
        return await editor.honest(params) if len(editor.edits) > 1 else {"applied": False}

    async with case() as c:
        c.beside.editor.on_apply = moody

        assert await c.edited() == "Edited a: 2 lines added, 1 removed."
        assert c.buffer.text == DONE


@pytest.mark.covers("K107")
@pytest.mark.parametrize("told", ["before", "after"])
async def test_an_edit_for_a_text_that_has_changed_meanwhile_is_made_for_the_new_one(
    case: Any, told: Any
) -> None:
    async def typed_first(editor: FakeEditor, params: Json) -> Any:
        if len(editor.edits) == 1:
            editor.type(c.buffer, 0, "typed ")
        return await editor.honest(params)

    async with case(Habits(told=told)) as c:
        c.beside.editor.on_apply = typed_first

        assert await c.edited() == "Edited a: 2 lines added, 1 removed."
        assert c.buffer.text == f"typed {DONE}"
        versions = [
            edit["edit"]["documentChanges"][0]["textDocument"]["version"] for edit in c.beside.editor.edits
        ]
        assert versions == [1, 2]


@pytest.mark.covers("K106", "K107")
async def test_a_text_that_changes_at_every_try_is_given_up(case: Any) -> None:
    async def typed_first(editor: FakeEditor, params: Json) -> Any:
        editor.type(c.buffer, 0, "x")
        return await editor.honest(params)

    async with case() as c:
        c.beside.editor.on_apply = typed_first

        assert await c.refused() == (
            "a was not changed: the editor refused without a reason. The edit has not been made."
        )
        assert (c.buffer.text, len(c.beside.editor.edits)) == ("x" * 10 + TEXT, 10)


MERGED = [Habits(told="after", merged=merged) for merged in ("no", "several", "one", "whole")]


@pytest.mark.parametrize("habits", MERGED, ids=lambda habits: habits.merged)
@pytest.mark.parametrize("answer", [{"applied": True}, None, {"applied": False}, NEVER])
async def test_an_edit_and_typing_told_together_are_told_apart(
    case: Any, habits: Habits, answer: Any
) -> None:
    async def typed_after(editor: FakeEditor, params: Json) -> Any:
        buffer = editor.apply(params)
        editor.habits = Habits(told="later", merged=habits.merged)
        editor.type(buffer, len(buffer.text), "typed\n")
        editor.type(buffer, 0, "also ")
        editor.flush(buffer)
        return answer

    async with case(habits) as c:
        c.beside.editor.on_apply = typed_after

        assert await c.edited() == "Edited a: 2 lines added, 1 removed."
        assert (c.buffer.text, len(c.beside.editor.edits)) == (f"also {DONE}typed\n", 1)


async def test_a_yes_beside_typing_alone_is_not_taken_for_the_edit(case: Any) -> None:
    async def typed_only(editor: FakeEditor, params: Json) -> Any:
        editor.type(c.buffer, 0, "typed ")
        return {"applied": True}

    async with case() as c:
        c.beside.editor.on_apply = typed_only

        assert await c.refused() == (
            "The editor says that it took the edit of a, but it is not in its text, which others have "
            "changed meanwhile. Read it again before it is changed."
        )
        assert (c.buffer.text, len(c.beside.editor.edits)) == (f"typed {TEXT}", 1)


async def test_half_of_an_edit_is_called_neither_made_nor_refused(case: Any) -> None:
    async def half(editor: FakeEditor, params: Json) -> Any:
        (entry,) = params["edit"]["documentChanges"]
        entry["edits"] = entry["edits"][:1]
        editor.apply(params)
        return {"applied": True}

    async with case() as c:
        c.beside.editor.on_apply = half
        refused = await soon(c.tools.edit_refused("a", ("one", "1"), ("three", "3")))

        assert refused == (
            "The editor says that it took the edit of a, and its text is now another than was asked for, "
            "perhaps formatted. Read it again before it is changed."
        )
        assert len(c.beside.editor.edits) == 1


async def test_a_document_that_is_closed_in_mid_edit_frees_the_queue(case: Any) -> None:
    async def vanish(editor: FakeEditor, params: Json) -> Any:
        editor.close(c.buffer)
        return {"applied": True}

    async with case() as c:
        c.beside.editor.on_apply = vanish

        assert await c.refused() == (
            "Outcome unknown: an edit of a was sent, and it was closed before its new text came. Read it "
            "again before it is changed."
        )
        assert len(c.tools.queue) == 0
        await soon(c.tools.edit("a", EDIT))
        assert c.path.read_text(encoding="utf-8") == DONE


async def test_a_client_that_vanishes_in_mid_edit_frees_the_queue_at_once(case: Any) -> None:
    async with case() as c:
        c.beside.editor.on_apply = _never
        editing_it = asyncio.create_task(c.refused())
        await soon(c.beside.editor.asked.wait())
        await c.beside.rpc.close()

        assert "the connection to the editor ended before it answered" in await soon(editing_it)
        assert len(c.tools.queue) == 0


@pytest.mark.parametrize(("version", "sent"), [(0, 1), (1, 1), (10, 10)])
async def test_version_0_is_sent_as_1_which_some_take_for_none(
    folder: Path, tools_beside: MakeTools, version: int, sent: int
) -> None:
    (folder / "a").write_text(TEXT, encoding="utf-8")
    takes_0_for_none = ClientProfile(least_version=1)
    async with editing(habits=Habits(versions=False), profile=takes_0_for_none) as beside:
        buffer = beside.editor.open(folder / "a", version=version)
        tools = await tools_beside(beside)
        await soon(tools.edit("a", EDIT))
        (entry,) = beside.editor.edits[0]["edit"]["documentChanges"]

        assert (buffer.text, entry["textDocument"]) == (DONE, {"uri": buffer.uri, "version": sent})


async def test_versions_may_jump_between_edits(case: Any) -> None:
    async with case() as c:
        await c.edited()
        c.buffer.version += 10
        c.beside.editor.type(c.buffer, 0, "x\n")
        await soon(c.tools.edit("a", ("three", "3")))

        assert c.buffer.text == "x\n" + DONE.replace("three", "3")
