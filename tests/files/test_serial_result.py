"""Changes requested at once have the outcome of the same changes made one after another."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pilothouse_agent.files.disk_files import DiskFiles
from pilothouse_agent.files.queue import WriteQueue
from pilothouse_agent.kernel.ports import FileChange, FileText
from pilothouse_agent.kernel.tooling import ToolError
from support.context import RecordingContext

Call: TypeAlias = tuple[str, str, str]
Outcome: TypeAlias = tuple[list[str], dict[str, str]]

NAMES = st.sampled_from(["a", "b", "link"])
FILES = st.sampled_from(["a", "b"])
"""A link that is itself moved or deleted is left out: who goes through it meanwhile is refused."""
TEXTS = st.sampled_from(["x", "xy\n", "y\r\nx"])
CALLS = st.one_of(
    st.tuples(st.just("write"), NAMES, TEXTS),
    st.tuples(st.just("edit"), NAMES, st.sampled_from(["xy", "yx"])),
    st.tuples(st.just("move"), FILES, NAMES),
    st.tuples(st.just("delete"), FILES, st.just("")),
)


@pytest.mark.slow
@pytest.mark.covers("F1", "F2", "T2", "K101", "R031")
@settings(deadline=None, max_examples=60)
@given(st.lists(CALLS, min_size=2, max_size=10))
def test_changes_at_once_end_as_they_would_one_after_another(calls: list[Call]) -> None:
    assert asyncio.run(outcome(calls, at_once=True)) == asyncio.run(outcome(calls, at_once=False))


async def outcome(calls: Sequence[Call], *, at_once: bool) -> Outcome:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        (folder / "a").write_text("x")
        (folder / "link").symlink_to("a")
        files = DiskFiles(WriteQueue())
        made = [call(files, folder, *each) for each in calls]
        if at_once:
            ends = await asyncio.wait_for(asyncio.gather(*made, return_exceptions=True), 20)
        else:
            ends = [(await asyncio.gather(each, return_exceptions=True))[0] for each in made]
        told = [str(end).replace(name, "") for end in ends]
        return told, {path.name: contents(path) for path in sorted(folder.iterdir())}


def call(
    files: DiskFiles, folder: Path, kind: str, name: str, argument: str
) -> Coroutine[None, None, FileChange]:
    path, scope = str(folder / name), RecordingContext()
    if kind == "write":
        return files.write(path, argument, scope)
    if kind == "move":
        return files.move(path, str(folder / argument), scope)
    if kind == "delete":
        return files.delete(path, scope)
    return files.edit(path, lambda file: swapped(file, argument), scope)


def swapped(file: FileText | None, letters: str) -> str:
    if file is None or letters[0] not in file.text:
        raise ToolError(f"{letters[0]} is not there")
    return file.text.replace(letters[0], letters, 1)


def contents(path: Path) -> str:
    return f"link to {path.readlink()}" if path.is_symlink() else path.read_bytes().decode()
