"""Somebody types on while edits come: every edit is made in the end, and no key is lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from pilothouse_server.client.clients import USUAL, ClientProfile
from pilothouse_server.edits.edit_request import Limits
from support.busy_editors import NEOVIM, SkippingEditor
from support.fake_editor import NEVER, Buffer, Editing, FakeEditor, Habits, editing
from support.file_tools import FileTools
from support.kernel import soon

Json: TypeAlias = dict[str, Any]
MakeTools: TypeAlias = Callable[[Editing], Awaitable[FileTools]]

UNTOLD = Habits(told="later", merged="several")
NOT_REFRESHED = replace(NEOVIM, tells_when_refreshed=False)
PATIENT = Limits(answer=5, sight=0, retry=0.1, settle=5)


class Desk:
    """One open file `a`."""

    def __init__(self, beside: Editing, tools: FileTools, buffer: Buffer) -> None:
        self.beside, self.tools, self.buffer = beside, tools, buffer
        self.editor = beside.editor

    def edit(self, old: str, new: str) -> asyncio.Task[str]:
        return asyncio.create_task(self.tools.edit("a", (old, new)))


@pytest.fixture
def desk(folder: Path, tools_beside: MakeTools) -> Any:
    @asynccontextmanager
    async def opened(
        make: type[FakeEditor], profile: ClientProfile, habits: Habits, limits: Limits | None = None
    ) -> AsyncGenerator[Desk]:
        (folder / "a").write_text("one\ntwo\nthree\n", encoding="utf-8")
        async with editing(habits=habits, profile=profile, make=make, limits=limits) as beside:
            buffer = beside.editor.open(folder / "a")
            yield Desk(beside, await tools_beside(beside), buffer)

    return opened


@pytest.mark.covers("R283")
@pytest.mark.parametrize("merged", ["no", "several", "one", "whole"])
@pytest.mark.parametrize("keys", ["x", "xyz", "\n\n", "two"])
async def test_an_edit_that_was_left_out_for_a_key_is_made_for_the_newer_text(
    desk: Any, keys: str, merged: Any
) -> None:
    async with desk(SkippingEditor, NEOVIM, Habits(told="later", merged=merged)) as d:
        d.editor.keys = keys
        told = await soon(d.edit("one\ntwo", "1\n2\n2b"))

        assert told.splitlines()[0] == "Edited a: 3 lines added, 2 removed."
        assert (d.buffer.text, len(d.editor.edits)) == (f"1\n2\n2b\nthree\n{keys}", len(keys) + 1)


@pytest.mark.covers("R283")
async def test_keys_that_were_not_told_yet_are_told_before_an_edit_is_worked_out(desk: Any) -> None:
    async with desk(SkippingEditor, NEOVIM, UNTOLD) as d:
        d.editor.type(d.buffer, 0, "typed\n")
        await soon(d.edit("two", "2"))

        assert (d.buffer.text, len(d.editor.edits)) == ("typed\none\n2\nthree\n", 1)


@pytest.mark.covers("R283")
async def test_an_edit_waits_for_keys_that_are_told_much_later(desk: Any) -> None:
    async with desk(SkippingEditor, NOT_REFRESHED, UNTOLD, PATIENT) as d:
        d.editor.keys = "x"
        editing_it = d.edit("two", "2")
        await soon(d.editor.asked.wait())
        d.editor.type(d.buffer, 0, "typed\n")
        d.editor.asked.clear()
        d.editor.flush(d.buffer)
        await soon(d.editor.asked.wait())
        d.editor.flush(d.buffer)

        assert (await soon(editing_it)).splitlines()[0] == "Edited a: 1 line added, 1 removed."
        assert (d.buffer.text, len(d.editor.edits)) == ("typed\none\n2\nthree\nx", 2)


@pytest.mark.covers("R283")
async def test_an_edit_that_nobody_tells_of_is_waited_for_no_longer_than_the_limit(desk: Any) -> None:
    short = Limits(answer=5, sight=0, retry=0.1, settle=0.05)
    async with desk(SkippingEditor, NOT_REFRESHED, UNTOLD, short) as d:
        d.editor.keys = "x"

        assert "Outcome unknown" in await soon(d.tools.edit_refused("a", ("two", "2")))


async def _never(editor: FakeEditor, params: Json) -> Any:
    return NEVER


@pytest.mark.covers("R283")
@pytest.mark.parametrize("kind", ["edit", "read", "delete"])
async def test_a_call_on_a_document_in_doubt_waits_for_the_change_that_settles_it(
    desk: Any, kind: str
) -> None:
    async with desk(FakeEditor, USUAL, Habits(), Limits(answer=0.01, settle=5)) as d:
        d.editor.on_apply = _never
        await soon(d.tools.edit_refused("a", ("two", "2")))
        doubted = d.beside.text(d.buffer)[1]
        d.editor.on_apply = FakeEditor.honest
        calls = {
            "edit": lambda: d.tools.edit("a", ("two", "2")),
            "read": lambda: d.tools.read("a"),
            "delete": lambda: d.tools.refused("delete_file", path="a"),
        }
        waiting = asyncio.create_task(calls[kind]())
        await asyncio.sleep(0)
        d.editor.type(d.buffer, 0, "typed\n")
        said = await soon(waiting)

        assert doubted == "an edit was sent, and the editor did not answer"
        assert {"edit": "Edited a", "read": "typed", "delete": "has unsaved text"}[kind] in said
        assert d.buffer.text == ("typed\none\n2\nthree\n" if kind == "edit" else "typed\none\ntwo\nthree\n")


@pytest.mark.covers("R283")
async def test_an_edit_that_nobody_waits_for_any_more_is_settled_before_the_next(desk: Any) -> None:
    async with desk(FakeEditor, USUAL, Habits(told="later"), Limits(settle=5)) as d:
        d.editor.on_apply = _never
        given_up = d.edit("two", "2")
        await soon(d.editor.asked.wait())
        given_up.cancel()
        await asyncio.wait([given_up])
        doubted = d.beside.text(d.buffer)[1]
        d.editor.on_apply = FakeEditor.honest
        d.editor.apply(d.editor.edits[0])
        following = d.edit("three", "3")
        d.editor.flush(d.buffer)
        d.editor.habits = Habits()

        assert (await soon(following)).splitlines()[0] == "Edited a: 1 line added, 1 removed."
        assert doubted == "an edit was sent, and nobody waited for its outcome"
        assert (d.buffer.text, d.beside.text(d.buffer)[1]) == ("one\n2\n3\n", None)
