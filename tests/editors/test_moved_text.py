"""Edits that meet a text which has moved unseen: nothing is lost, and they are made where they belong."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from pilothouse_server.client.clients import ClientProfile
from pilothouse_server.edits.edit_request import Limits
from pilothouse_server.wire import method_names as names
from support.busy_editors import EGLOT, NO_VERSIONS, LateEditor
from support.fake_editor import Buffer, Editing, Habits, editing
from support.file_tools import FileTools
from support.kernel import soon

MakeTools: TypeAlias = Callable[[Editing], Awaitable[FileTools]]
Typing: TypeAlias = Callable[[LateEditor, Buffer], None]

TEXT = "".join(f"line {k}\n" for k in range(10))
AT_ONCE = Limits(answer=5, sight=5, retry=0.1, settle=5, rest=0, still=0)
PUT_BACK = "An edit met a while its text was moving. What it replaced there has been put back."


class Desk:
    def __init__(self, beside: Editing, tools: FileTools, editor: LateEditor, buffer: Buffer) -> None:
        self.beside, self.tools, self.editor, self.buffer = beside, tools, editor, buffer

    def when_the_next_edit_comes(self, typing: Typing) -> None:
        self.editor.typed = lambda buffer: typing(self.editor, buffer)

    async def edited(self, *edits: tuple[str, str]) -> str:
        return (await soon(self.tools.edit("a", *edits))).splitlines()[0]

    def edit(self, *edits: tuple[str, str]) -> asyncio.Task[str]:
        return asyncio.create_task(self.tools.edit("a", *edits))


@pytest.fixture
def desk(folder: Path, tools_beside: MakeTools) -> Any:
    @asynccontextmanager
    async def opened(
        profile: ClientProfile = EGLOT, limits: Limits = AT_ONCE, merged: Any = "several"
    ) -> AsyncGenerator[Desk]:
        (folder / "a").write_text(TEXT, encoding="utf-8")
        habits = Habits(told="later", merged=merged)
        async with editing("utf-32", habits, profile=profile, make=LateEditor, limits=limits) as beside:
            editor = beside.editor
            assert isinstance(editor, LateEditor)
            buffer = editor.open(folder / "a")
            yield Desk(beside, await tools_beside(beside), editor, buffer)

    return opened


def _at_the_top(editor: LateEditor, buffer: Buffer) -> None:
    for key in "new 0\n":
        editor.type(buffer, buffer.text.index("line 0"), key)


def _many_lines(editor: LateEditor, buffer: Buffer) -> None:
    for number in range(8):
        editor.type(buffer, buffer.text.index("line 0"), f"new {number}\n")


def _in_the_line(editor: LateEditor, buffer: Buffer) -> None:
    editor.type(buffer, buffer.text.index("line 7"), "\U0001f680 ")


def _line_taken_away(editor: LateEditor, buffer: Buffer) -> None:
    editor.type(buffer, buffer.text.index("line 3"), "", over=len("line 3\n"))


def _line_right_above(editor: LateEditor, buffer: Buffer) -> None:
    editor.type(buffer, buffer.text.index("line 7"), "mine, all mine\n")


def _at_the_end(editor: LateEditor, buffer: Buffer) -> None:
    editor.type(buffer, len(buffer.text), "more\n")


MOVING: list[Typing] = [_at_the_top, _many_lines, _in_the_line, _line_taken_away, _line_right_above]


@pytest.mark.covers("R282")
@pytest.mark.parametrize("profile", [EGLOT, NO_VERSIONS], ids=["eglot", "no versions"])
@pytest.mark.parametrize("merged", ["no", "several"])
@pytest.mark.parametrize("moving", MOVING, ids=[each.__name__ for each in MOVING])
async def test_what_an_edit_replaced_in_a_wrong_place_is_put_back(
    desk: Any, moving: Typing, merged: str, profile: ClientProfile
) -> None:
    async with desk(profile, AT_ONCE, merged) as d:
        d.when_the_next_edit_comes(moving)
        told = await d.edited(("line 7", "LINE <7>"))

        typed = Buffer(d.buffer.uri, TEXT, 1, TEXT)
        moving(d.editor, typed)
        assert told == "Edited a: 1 line added, 1 removed."
        assert d.buffer.text == typed.text.replace("line 7", "LINE <7>")
        assert d.beside.told == [PUT_BACK]


@pytest.mark.covers("R282")
async def test_several_places_of_one_edit_are_put_back_together(desk: Any) -> None:
    async with desk() as d:
        d.when_the_next_edit_comes(_at_the_top)
        await d.edited(("line 2", "LINE 2"), ("line 5\n", ""), ("line 8", "eight\nand a half"))

        kept = TEXT.replace("line 2", "LINE 2").replace("line 5\n", "").replace("line 8", "eight\nand a half")
        assert d.buffer.text == "new 0\n" + kept
        assert d.beside.told == [PUT_BACK]


@pytest.mark.covers("R282")
async def test_keys_that_follow_a_wrong_edit_are_kept_too(desk: Any) -> None:
    async with desk() as d:

        def typed(editor: LateEditor, buffer: Buffer) -> None:
            _many_lines(editor, buffer)
            asyncio.get_running_loop().call_soon(_at_the_end, editor, buffer)

        d.when_the_next_edit_comes(typed)
        await d.edited(("line 7", "LINE <7>"))

        new = "".join(f"new {number}\n" for number in range(8))
        assert sorted(d.buffer.text.splitlines()) == sorted(
            (new + TEXT.replace("line 7", "LINE <7>") + "more\n").splitlines()
        )


@pytest.mark.covers("R282")
async def test_typing_that_moves_nothing_is_no_fault(desk: Any) -> None:
    async with desk() as d:
        d.when_the_next_edit_comes(_at_the_end)
        await d.edited(("line 7", "LINE <7>"))

        assert d.buffer.text == TEXT.replace("line 7", "LINE <7>") + "more\n"
        assert (d.beside.told, len(d.editor.edits)) == ([], 1)


@pytest.mark.covers("R282")
@pytest.mark.parametrize("merged", ["one", "whole"])
async def test_what_cannot_be_told_apart_is_told_to_model_and_user(desk: Any, merged: str) -> None:
    async with desk(EGLOT, replace(AT_ONCE, sight=0.2), merged) as d:
        d.when_the_next_edit_comes(_many_lines)
        refused = await soon(d.tools.edit_refused("a", ("line 7", "LINE <7>")))

        assert refused == (
            "The editor says that it took the edit of a, but its text had moved meanwhile, and the edit may "
            "stand in a wrong place. Read it again before it is changed."
        )
        assert d.beside.told == [
            "a may have been edited in a wrong place, since its text had moved. Look at it."
        ]


@pytest.mark.covers("R282")
async def test_with_the_documented_lines_an_edit_meets_no_text_that_was_not_told(desk: Any) -> None:
    async with desk(EGLOT, replace(AT_ONCE, rest=60)) as d:
        d.editor.tells_first = True
        d.when_the_next_edit_comes(_many_lines)
        await d.edited(("line 7", "LINE <7>"))
        d.editor.type(d.buffer, 0, "x")
        await d.edited(("line 8", "LINE <8>"))

        assert d.buffer.text.endswith("LINE <7>\nLINE <8>\nline 9\n")
        assert (d.beside.told, len(d.editor.edits)) == ([], 4)


@pytest.mark.covers("R282")
@pytest.mark.parametrize("way", ["told", "asked"])
async def test_an_edit_is_sent_when_the_keys_rest_for_sure(desk: Any, way: str) -> None:
    async with desk(EGLOT, replace(AT_ONCE, fresh=0.5, rest=60)) as d:
        document = d.beside.documents.get(d.buffer.uri)
        assert document is not None
        document.told_at -= 1
        _many_lines(d.editor, d.buffer)
        if way == "told":
            editing_it = d.edit(("line 7", "LINE <7>"))
            await asyncio.sleep(0)
            d.editor.flush(d.buffer)
        else:
            d.editor.flush(d.buffer)
            document.told_at -= 1
            await d.beside.rpc.request(names.SHOW_MESSAGE_REQUEST, {"message": "?"}, limit=None)
            editing_it = d.edit(("line 7", "LINE <7>"))
        await soon(editing_it)

        assert d.buffer.text.endswith("line 6\nLINE <7>\nline 8\nline 9\n")
        assert (d.beside.told, len(d.editor.edits)) == ([], 1)


@pytest.mark.covers("R282", "R260")
async def test_a_client_without_versions_gets_edits_only_when_nobody_types(desk: Any) -> None:
    async with desk(NO_VERSIONS, replace(AT_ONCE, still=60, patience=0.05)) as d:
        refused = await soon(d.tools.edit_refused("a", ("line 7", "LINE <7>")))

        assert refused == (
            "a is being changed in the editor all the time, which takes edits only for whatever text it has "
            "just then. Nothing was done. Try again when the user pauses."
        )
        assert (d.buffer.text, d.editor.edits) == (TEXT, [])


@pytest.mark.covers("R260")
async def test_a_client_without_versions_gets_edits_without_one(desk: Any) -> None:
    async with desk(NO_VERSIONS) as d:
        await d.edited(("line 7", "line seven"))

        span = {"start": {"line": 7, "character": 5}, "end": {"line": 7, "character": 6}}
        assert [edit["edit"] for edit in d.editor.edits] == [
            {"changes": {d.buffer.uri: [{"range": span, "newText": "seven"}]}}
        ]
        assert d.buffer.text == TEXT.replace("line 7", "line seven")
