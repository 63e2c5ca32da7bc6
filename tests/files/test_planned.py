"""The files as the earlier calls of a batch will leave them."""

from __future__ import annotations

from pathlib import Path

import pytest

from pilothouse_agent.files.disk_files import DiskFiles
from pilothouse_agent.kernel.ports import FileText
from pilothouse_agent.kernel.tooling import ToolError


async def test_what_was_put_wins_over_the_disk(files: DiskFiles, tmp_path: Path) -> None:
    path = str(tmp_path / "a")
    Path(path).write_bytes(b"\xef\xbb\xbfold")
    planned = files.plan()
    assert await planned.text(path) == FileText(path, "old", "utf-8", b"\xef\xbb\xbf")
    planned.put(path, "new")
    assert await planned.text(path) == FileText(path, "new", "utf-8", b"\xef\xbb\xbf")
    planned.put(path, None)
    assert await planned.text(path) is None
    assert Path(path).read_bytes() == b"\xef\xbb\xbfold"


async def test_a_missing_file_is_none_and_one_that_is_no_text_is_refused(
    files: DiskFiles, tmp_path: Path
) -> None:
    (tmp_path / "binary").write_bytes(b"\0")
    planned = files.plan()
    assert await planned.text(str(tmp_path / "missing")) is None
    for path in (tmp_path / "binary", tmp_path):
        with pytest.raises(ToolError):
            await planned.text(str(path))


async def test_a_link_means_the_file_it_leads_to(files: DiskFiles, tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    planned = files.plan()
    planned.put(str(tmp_path / "real"), "new")
    assert await planned.text(str(tmp_path / "link")) == FileText(str(tmp_path / "real"), "new", "utf-8")


async def test_plans_are_apart_and_certain_until_marked(files: DiskFiles, tmp_path: Path) -> None:
    planned, other = files.plan(), files.plan()
    planned.put(str(tmp_path / "a"), "planned")
    planned.mark_uncertain()
    assert await other.text(str(tmp_path / "a")) is None
    assert (planned.uncertain, other.uncertain) == (True, False)


@pytest.mark.covers("R043")
async def test_a_text_that_could_not_be_written_cannot_be_planned(files: DiskFiles, tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes("# coding: shift_jis\n名\n".encode("shift_jis"))
    planned = files.plan()
    await planned.text(str(path))
    with pytest.raises(ToolError, match="does not exist in shift_jis"):
        planned.put(str(path), "# coding: shift_jis\n😋\n")
