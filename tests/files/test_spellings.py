"""One file, several spellings: on file systems that fold case or composed letters, and on others."""

from __future__ import annotations

import asyncio
import os
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

from pilothouse_agent.files.spelling import line_key, real_path
from pilothouse_agent.kernel.schedule import dependencies
from support.file_tools import FileTools
from support.fuse import folding_mount

SPELLINGS = [("Read.me", "READ.ME"), ("Café", unicodedata.normalize("NFD", "cafÉ")), ("straße", "STRASSE")]


@pytest.fixture
def folding(tmp_path: Path) -> Iterator[Path]:
    """A folder in which `a` and `A` are one file."""
    backing, place = tmp_path / "backing", tmp_path / "Folding"
    backing.mkdir()
    place.mkdir()
    with folding_mount(place, backing):
        yield place


@pytest.fixture
def tools(folding: Path) -> FileTools:
    return FileTools(folding)


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.mark.slow
@pytest.mark.covers("R235")
@pytest.mark.parametrize(("one", "other"), SPELLINGS)
async def test_what_was_read_by_one_name_is_written_by_another(
    folding: Path, tools: FileTools, one: str, other: str
) -> None:
    path = await asyncio.to_thread(written, folding, one, "old\n")
    await tools.read(one)
    assert await tools.write(other, "new\n") == f"Replaced {other}, now 1 line: 1 line added, 1 removed."
    assert await asyncio.to_thread(lambda: (os.listdir(folding), path.read_text())) == ([one], "new\n")


@pytest.mark.slow
@pytest.mark.covers("R235", "F1")
async def test_changes_by_two_names_are_made_one_after_the_other(folding: Path, tools: FileTools) -> None:
    path = await asyncio.to_thread(written, folding, "a", "".join(f"line {n}\n" for n in range(8)))
    names = ["a", "A"] * 4
    edits = [tools.edit(name, (f"line {n}\n", f"{n}\n")) for n, name in enumerate(names)]
    await asyncio.wait_for(asyncio.gather(*edits), 5)
    assert await asyncio.to_thread(path.read_text) == "".join(f"{n}\n" for n in range(8))


@pytest.mark.slow
@pytest.mark.covers("R235", "T2")
@pytest.mark.parametrize(("one", "other"), SPELLINGS)
async def test_calls_that_make_one_file_by_two_names_wait_for_each_other(
    folding: Path, tools: FileTools, one: str, other: str
) -> None:
    await asyncio.to_thread(written, folding, "there", "")
    calls = [await tools.bind("write_file", path=name, content="") for name in (one, other, "third")]
    assert dependencies([call.footprint for call in calls]) == [[], [0], []]


@pytest.mark.slow
@pytest.mark.covers("R235")
async def test_a_folder_by_another_name_is_still_the_workspace(folding: Path) -> None:
    await asyncio.to_thread(written, folding, "Src/a", "old\n")
    tools = await asyncio.to_thread(FileTools, folding / "SRC")
    assert tools.workspace.folders == (str(folding / "Src"),)
    paths = [(await tools.bind("read_file", path=f"{folding}/sRC/{name}")).locations for name in "Ab"]
    assert [tools.workspace.contains(place.path) for (place,) in paths] == [True, True]


@pytest.mark.slow
@pytest.mark.covers("R235", "P1")
async def test_a_protected_file_is_protected_by_every_name(folding: Path, tools: FileTools) -> None:
    await asyncio.to_thread(written, folding, ".git/config", "")
    call = await tools.bind("write_file", path=".GIT/Config", content="")
    assert [touch.path for touch in call.footprint.writes] == [str(folding / ".git" / "config")]


@pytest.mark.covers("R235")
async def test_elsewhere_two_spellings_are_two_files(tmp_path: Path) -> None:
    tools = await asyncio.to_thread(FileTools, tmp_path)
    for name in ("a", "A", "Café", unicodedata.normalize("NFD", "Café")):
        await tools.write(name, name)
    calls = [await tools.bind("write_file", path=name, content="") for name in ("new", "NEW")]
    assert dependencies([call.footprint for call in calls]) == [[], []]
    assert sorted(os.listdir(tmp_path)) == sorted(path.read_text() for path in tmp_path.iterdir())
    assert len(os.listdir(tmp_path)) == 4


@pytest.mark.covers("R235")
def test_a_second_name_of_a_file_is_not_another_spelling(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    (tmp_path / "A").hardlink_to(tmp_path / "a")
    assert [real_path(str(tmp_path / name)) for name in "aA"] == [str(tmp_path / name) for name in "aA"]
    assert line_key(str(tmp_path / "b")) == str(tmp_path / "b")
