"""The agent edits and the user types in the same documents: everything of both arrives."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from pilothouse_agent.kernel.tooling import ToolError
from pilothouse_server.client.positions import Encoding
from pilothouse_server.edits.edit_request import Limits
from support.fake_editor import Buffer, Editing, FakeEditor, Habits, editing
from support.file_tools import FileTools
from support.lsp_texts import ENCODINGS

pytestmark = pytest.mark.slow

Json: TypeAlias = dict[str, Any]
MakeTools: TypeAlias = Callable[[Editing], Awaitable[FileTools]]

EDITS = 1000
SLOTS = 6
LINE_ENDS: dict[str, tuple[str, ...]] = {
    "lf": ("\n",),
    "crlf": ("\r\n",),
    "mixed": ("\n", "\r\n"),
    "bom": ("\n",),
    "astral": ("\n",),
    "open end": ("\r\n",),
}
HABITS = [
    Habits(told=told, merged=merged)
    for told in ("before", "after", "later")
    for merged in ("no", "several", "one", "whole")
]


def text_of(kind: str, counts: list[int]) -> str:
    """Lines of the agent between lines of the user."""
    word = "\U0001f60b\u00e9\U0001f468\u200d\U0001f469 " if kind == "astral" else "plain\x0c\u2028 "
    lines = [line for slot, count in enumerate(counts) for line in (f"{word}{slot}", slot_line(slot, count))]
    ends = LINE_ENDS[kind]
    text = "".join(line + ends[number % len(ends)] for number, line in enumerate([*lines, "last"]))
    return text.removesuffix(ends[-1]) if kind == "open end" else text


def slot_line(slot: int, count: int) -> str:
    return f"\U0001f40d slot {slot} = {count}; end of {slot}"


class Typist:
    """Types single characters, each its own, in a third of the windows, wherever no slot is."""

    def __init__(self, editor: FakeEditor, buffer: Buffer, choice: random.Random) -> None:
        self.typed: list[str] = []
        self.windows = 0
        self._editor, self._buffer, self._choice = editor, buffer, choice

    def window(self) -> None:
        self.windows += 1
        if self._choice.random() < 1 / 3:
            # A private character stands for what a user may type; its number makes it findable.
            self.typed.append(chr(0xF0000 + len(self.typed)))
            self._editor.type(self._buffer, self._choice.choice(self._places()), self.typed[-1])

    def _places(self) -> list[int]:
        text = self._buffer.text
        found: list[int] = []
        at = 0
        for line in text.splitlines(keepends=True):
            content = line.rstrip("\r\n")
            free = range(len(content) + 1) if "slot" not in line else (0, len(content))
            found += [at + place for place in free]
            at += len(line)
        return found


class Desk:
    """One open document with its typist, and the edits the agent makes in it."""

    def __init__(self, beside: Editing, tools: FileTools, path: Path, kind: str, seed: int) -> None:
        self.kind, self.path, self._tools = kind, path, tools
        self._choice = random.Random(seed)
        self.counts = [0] * SLOTS
        self.buffer = beside.editor.open(path, version=seed + 1)
        self.typist = Typist(beside.editor, self.buffer, self._choice)
        self.refused: list[str] = []

    async def edit(self) -> None:
        slot = self._choice.randrange(SLOTS)
        old, new = slot_line(slot, self.counts[slot]), slot_line(slot, self.counts[slot] + 1)
        try:
            await self._tools.edit(self.path.name, (old, new))
        except ToolError as error:
            self.refused.append(str(error))
        else:
            self.counts[slot] += 1

    def without_typing(self) -> str:
        return self.buffer.text.translate({ord(character): None for character in self.typist.typed})


@pytest.mark.covers("R001", "K107", "K111", "F5")
@pytest.mark.parametrize("encoding", ENCODINGS)
async def test_a_thousand_edits_land_while_the_user_types(
    folder: Path, tools_beside: MakeTools, encoding: Encoding
) -> None:
    seeds = range(len(LINE_ENDS))
    edits = EDITS // len(ENCODINGS) + 1
    for kind in LINE_ENDS:
        mark = b"\xef\xbb\xbf" if kind == "bom" else b""
        (folder / kind).write_bytes(mark + text_of(kind, [0] * SLOTS).encode())
    on_disk = {kind: (folder / kind).read_bytes() for kind in LINE_ENDS}
    async with editing(encoding, limits=Limits(5, 5, 1)) as beside:
        tools = await tools_beside(beside)
        desks = [
            Desk(beside, tools, folder / kind, kind, seed)
            for kind, seed in zip(LINE_ENDS, seeds, strict=True)
        ]
        beside.editor.on_apply = typing_around({desk.buffer.uri: desk for desk in desks})
        for number in range(edits // len(desks) + 1):
            beside.editor.habits = HABITS[number % len(HABITS)]
            await asyncio.wait_for(asyncio.gather(*(desk.edit() for desk in desks)), 10)
            beside.editor.flush_all()

        assert [desk.refused for desk in desks] == [[] for _ in desks]
        assert sum(sum(desk.counts) for desk in desks) >= edits
        assert [beside.text(desk.buffer) for desk in desks] == [(desk.buffer.text, None) for desk in desks]
        for desk in desks:
            assert desk.without_typing() == text_of(desk.kind, desk.counts)
            assert [desk.buffer.text.count(each) for each in desk.typist.typed] == [1] * len(
                desk.typist.typed
            )
            assert len(desk.typist.typed) > desk.typist.windows / 5
    assert {kind: (folder / kind).read_bytes() for kind in LINE_ENDS} == on_disk


def typing_around(desks: dict[str, Desk]) -> Callable[[FakeEditor, Json], Awaitable[Any]]:
    """Two windows for each edit: before the editor looks at it, and before the change is told."""

    async def on_apply(editor: FakeEditor, params: Json) -> Any:
        (entry,) = params["edit"]["documentChanges"]
        desk = desks[entry["textDocument"]["uri"]]
        desk.typist.window()
        answer = await editor.honest(params)
        desk.typist.window()
        if editor.habits.told == "later":
            asyncio.get_running_loop().call_later(0.002, editor.flush, desk.buffer)
        return answer

    return on_apply
