"""Links that a search passes by, and names that look like the one asked for."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from pilothouse_agent.files.workspace import Workspace
from pilothouse_agent.kernel.json_types import JsonObject
from pilothouse_agent.kernel.messages import text_of
from pilothouse_agent.kernel.ports import Invocation
from pilothouse_agent.tools.search.glob_file import GlobFileTool
from pilothouse_agent.tools.search.grep import GrepTool
from pilothouse_agent.tools.search.ripgrep import Ripgrep
from pilothouse_agent.tools.shell.environment import child_environment
from support.context import RecordingContext
from support.file_tools import FileTools


@pytest.fixture
def linked(folder: Path) -> Path:
    """A folder outside, which `linked` and `src/l` in the workspace lead to."""
    outside = folder.parent / "outside"
    (outside / "deep").mkdir(parents=True)
    (outside / "deep/x.py").write_text("needle\n", encoding="utf-8")
    (folder / "src").mkdir()
    (folder / "linked").symlink_to(outside)
    (folder / "src/l").symlink_to("../../outside")
    return outside


async def glob(folder: Path, pattern: str) -> tuple[list[str], Invocation]:
    workspace = await asyncio.to_thread(Workspace, [folder])
    tool = GlobFileTool(workspace, Ripgrep(child_environment(os.environ)))
    call = await asyncio.to_thread(tool.bind, {"pattern": pattern})
    result = await call.execute(RecordingContext())
    return text_of(result.content).splitlines(), call


@pytest.mark.covers("R242")
@pytest.mark.parametrize("pattern", ["linked/**/*.py", "linked/deep/*.py", "src/l/**", "./linked/deep/x.py"])
async def test_a_glob_below_a_linked_folder_is_judged_and_searched_where_that_leads(
    folder: Path, linked: Path, pattern: str
) -> None:
    found, call = await glob(folder, pattern)

    assert found == [str(linked / "deep/x.py")]
    assert [touch.path.startswith(str(linked)) for touch in call.footprint.reads] == [True]


@pytest.mark.covers("R242")
async def test_links_that_were_passed_are_named(folder: Path, linked: Path) -> None:
    links = f"linked -> {linked}, src/l -> ../../outside"
    note = f"[links to folders were not followed: {links}; name one as path for it]"

    assert (await glob(folder, "*.py"))[0] == ["No files fit '*.py'.", note]
    workspace = await asyncio.to_thread(Workspace, [folder])
    tool = GrepTool(workspace, Ripgrep(child_environment(os.environ)))
    call = await asyncio.to_thread(tool.bind, {"pattern": "needle"})
    assert text_of((await call.execute(RecordingContext())).content) == f"No matches for 'needle'.\n{note}"


NAMES = [
    ("Shot 1.00\u202fPM.txt", "Shot 1.00 PM.txt", "Shot 1.00\\u202fPM.txt"),
    ("it\u2019s.txt", "it's.txt", "it\\u2019s.txt"),
    ("a\u2013b.txt", "a-b.txt", "a\\u2013b.txt"),
    ("cafe\u0301.txt", "caf\u00e9.txt", "caf\u00e9.txt"),
    ("no\u200bthing.txt", "nothing.txt", "no\\u200bthing.txt"),
    ("dir\u00a0x/a.txt", "dir x/a.txt", "dir\\u00a0x/a.txt"),
]


@pytest.mark.covers("R242")
@pytest.mark.parametrize(("name", "asked", "told"), NAMES)
async def test_the_only_name_that_looks_alike_is_read_and_said(
    tools: FileTools, folder: Path, name: str, asked: str, told: str
) -> None:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text("hi\n", encoding="utf-8")

    text = await tools.read(asked)

    assert text.startswith(f"[There is no {asked!r}; this is the only one that looks like it: {told}.]\n")
    assert text.endswith("hi\n")


@pytest.mark.covers("R242")
@pytest.mark.parametrize(("name", "asked", "told"), NAMES[:3])
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("edit_file", {"old_text": "hi", "new_text": "ho"}),
        ("delete_file", {}),
        ("move_file", {"new_path": "elsewhere"}),
    ],
)
async def test_it_is_never_taken_for_a_change(
    tools: FileTools, folder: Path, name: str, asked: str, told: str, tool: str, arguments: JsonObject
) -> None:
    (folder / name).write_text("hi\n", encoding="utf-8")

    assert "does not exist" in await tools.refused(tool, path=asked, **arguments)
    assert (folder / name).read_text(encoding="utf-8") == "hi\n"


@pytest.mark.covers("R242")
async def test_what_is_suggested_for_a_change_shows_the_difference(tools: FileTools, folder: Path) -> None:
    (folder / "Shot 1.00\u202fPM.txt").write_text("hi\n", encoding="utf-8")

    refused = await tools.edit_refused("Shot 1.00 PM.txt", ("hi", "ho"))

    assert refused.endswith(r"Did you mean Shot 1.00\u202fPM.txt?")


@pytest.mark.covers("R242")
async def test_of_two_names_that_look_alike_none_is_taken(tools: FileTools, folder: Path) -> None:
    (folder / "a\u202fb").write_text("one\n", encoding="utf-8")
    (folder / "a\u00a0b").write_text("two\n", encoding="utf-8")

    assert "does not exist" in await tools.refused("read_file", path="a b")


@pytest.mark.covers("R242")
@pytest.mark.parametrize(
    "name", [b"bad\xff.txt", b"two\nlines.txt", b"tab\tbed.txt", b"na\xe2\x80\xafme.txt"]
)
async def test_what_a_list_names_can_be_read(tools: FileTools, folder: Path, name: bytes) -> None:
    (folder / os.fsdecode(name)).write_text("hi\n", encoding="utf-8")

    listed, _ = await glob(folder, "*.txt")

    assert len(listed) == 1
    assert (await tools.read(listed[0])).endswith("hi\n")
