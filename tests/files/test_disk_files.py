"""The file port on disk: what it changes, what it refuses, what it knows."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pilothouse_agent.files.disk_files import DiskFiles
from pilothouse_agent.files.queue import WriteQueue
from pilothouse_agent.kernel.ports import FileChange, FileText
from pilothouse_agent.kernel.tooling import ToolError
from support.context import RecordingContext
from support.slow_change import SlowChange


def replacing(old: str, new: str) -> Callable[[FileText | None], str]:
    def change(file: FileText | None) -> str:
        assert file is not None
        if old not in file.text:
            raise ToolError(f"{old} is not there")
        return file.text.replace(old, new)

    return change


async def read_whole(files: DiskFiles, path: Path) -> None:
    file = await files.read(str(path))
    files.note_read(file, 1, file.text.count("\n") + 1)


@pytest.mark.covers("F5", "R040")
async def test_an_edit_changes_only_what_it_names(
    files: DiskFiles, scope: RecordingContext, tmp_path: Path
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"\xef\xbb\xbfa\r\nb\nc\rd")
    path.chmod(0o754)
    change = await files.edit(str(path), replacing("b", "B"), scope)
    assert change == FileChange(str(path), "modify", "disk", "a\r\nb\nc\rd", "a\r\nB\nc\rd")
    assert path.read_bytes() == b"\xef\xbb\xbfa\r\nB\nc\rd"
    assert path.stat().st_mode & 0o7777 == 0o754
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.covers("R040")
async def test_line_ends_are_written_as_given(
    files: DiskFiles, scope: RecordingContext, tmp_path: Path
) -> None:
    await files.write(str(tmp_path / "a"), "a\nb\r\nc", scope)
    assert (tmp_path / "a").read_bytes() == b"a\nb\r\nc"
    assert await files.read(str(tmp_path / "a")) == FileText(str(tmp_path / "a"), "a\nb\r\nc", "utf-8")


@pytest.mark.covers("F3")
async def test_a_new_file_is_made_with_its_folders_and_the_usual_mode(
    files: DiskFiles, scope: RecordingContext, tmp_path: Path
) -> None:
    path = tmp_path / "new" / "folder" / "a"
    made = (str(path.parent), str(path.parent.parent))
    change = await files.write(str(path), "hi", scope)
    assert change == FileChange(str(path), "create", "disk", None, "hi", folders=made)
    plain = tmp_path / "plain"
    plain.touch()
    assert path.read_bytes() == b"hi"
    assert path.stat().st_mode == plain.stat().st_mode


@pytest.mark.covers("F3", "R004", "R007")
async def test_a_file_is_replaced_only_as_it_was_read(
    files: DiskFiles, scope: RecordingContext, tmp_path: Path
) -> None:
    path = tmp_path / "a"
    path.write_text("v1")
    with pytest.raises(ToolError, match="it exists and has not been read"):
        await files.write(str(path), "agent", scope)
    await read_whole(files, path)
    path.write_text("v2-user")
    with pytest.raises(ToolError, match="it has changed since it was read"):
        await files.write(str(path), "agent", scope)
    assert path.read_text() == "v2-user"
    await read_whole(files, path)
    await files.write(str(path), "agent", scope)
    assert path.read_text() == "agent"


@pytest.mark.covers("F3", "R004")
async def test_content_decides_not_time_stamps(
    files: DiskFiles, scope: RecordingContext, tmp_path: Path
) -> None:
    path = tmp_path / "a"
    path.write_text("v1")
    status = path.stat()
    await read_whole(files, path)
    path.write_text("v2")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    with pytest.raises(ToolError, match="has changed"):
        await files.write(str(path), "agent", scope)
    path.write_text("v1")
    os.utime(path, (1, 1))
    await files.write(str(path), "agent", scope)
    assert path.read_text() == "agent"


@pytest.mark.covers("F3", "R005")
async def test_our_own_changes_need_no_reading(
    files: DiskFiles, scope: RecordingContext, tmp_path: Path
) -> None:
    path, new = tmp_path / "a", tmp_path / "new"
    path.write_text("1 2 3")
    await read_whole(files, path)
    await files.edit(str(path), replacing("1", "one"), scope)
    await files.edit(str(path), replacing("2", "two"), scope)
    await files.write(str(path), "done", scope)
    await files.write(str(path), "done again", scope)
    await files.write(str(new), "n", scope)
    await files.write(str(new), "n2", scope)
    assert (path.read_text(), new.read_text()) == ("done again", "n2")


@pytest.mark.covers("F3")
async def test_an_edit_does_not_make_the_rest_of_the_file_known(
    files: DiskFiles, scope: RecordingContext, tmp_path: Path
) -> None:
    path = tmp_path / "a"
    path.write_text("1\n2\n3\n")
    await files.edit(str(path), replacing("2", "two"), scope)
    with pytest.raises(ToolError, match="only lines 2-2 of its 3 lines have been read"):
        await files.write(str(path), "agent", scope)


async def test_the_same_text_is_not_written_again(
    files: DiskFiles, scope: RecordingContext, tmp_path: Path
) -> None:
    path = tmp_path / "a"
    path.write_text("same")
    before = path.stat()
    assert await files.write(str(path), "same", scope) == FileChange(
        str(path), "modify", "disk", "same", "same"
    )
    assert path.stat() == before
    await files.write(str(path), "known now", scope)


@pytest.mark.covers("F2")
async def test_a_change_made_by_others_during_the_turn_is_taken_in(
    files: DiskFiles, scope: RecordingContext, tmp_path: Path
) -> None:
    path = tmp_path / "a"
    path.write_text("mine\n")
    slow = SlowChange("mine", "ours")
    edit = asyncio.create_task(files.edit(str(path), slow, scope))
    await slow.begun()
    path.write_text("theirs\nmine\n")
    slow.let_go()
    assert await asyncio.wait_for(edit, 5) == FileChange(
        str(path), "modify", "disk", "theirs\nmine\n", "theirs\nours\n"
    )
    assert path.read_text() == "theirs\nours\n"


@pytest.mark.covers("F2")
async def test_a_file_that_never_rests_is_left_alone(
    files: DiskFiles, scope: RecordingContext, tmp_path: Path
) -> None:
    path = tmp_path / "a"
    path.write_text("0")

    def change(file: FileText | None) -> str:
        assert file is not None
        path.write_text(file.text + "0")
        return "mine"

    with pytest.raises(ToolError, match="is being changed by others all the time"):
        await files.edit(str(path), change, scope)
    assert path.read_text() == "0" * 11


async def test_a_file_that_appears_during_the_turn_is_not_overwritten(
    files: DiskFiles, scope: RecordingContext, tmp_path: Path
) -> None:
    path = tmp_path / "a"
    path.write_text("v1")
    slow = SlowChange("v1", "v2")
    edit = asyncio.create_task(files.edit(str(path), slow, scope))
    await slow.begun()
    path.unlink()
    slow.let_go()
    with pytest.raises(ToolError, match="does not exist"):
        await asyncio.wait_for(edit, 5)
    assert os.listdir(tmp_path) == []


@pytest.mark.covers("F1", "F2", "R031", "K101")
async def test_changes_of_one_file_at_once_are_all_made_in_order(
    files: DiskFiles, scope: RecordingContext, tmp_path: Path
) -> None:
    path = tmp_path / "n"
    path.write_text("".join(f"{number}\n" for number in range(1, 101)))
    slow = SlowChange("50\n", "FIFTY\n")
    first = asyncio.create_task(files.edit(str(path), slow, scope))
    second = asyncio.create_task(files.edit(str(path), replacing("75\n", "SEVENTY-FIVE\n"), scope))
    await slow.begun()
    slow.let_go()
    await asyncio.wait_for(asyncio.gather(first, second), 5)
    lines = path.read_text().splitlines()
    assert (lines[49], lines[74], len(lines)) == ("FIFTY", "SEVENTY-FIVE", 100)


@pytest.mark.covers("F1", "K101")
async def test_two_files_are_changed_at_the_same_time(
    files: DiskFiles, scope: RecordingContext, tmp_path: Path
) -> None:
    changes = {name: SlowChange("old", "new") for name in "ab"}
    for name in changes:
        (tmp_path / name).write_text("old")
    edits = [
        asyncio.create_task(files.edit(str(tmp_path / name), slow, scope)) for name, slow in changes.items()
    ]
    for slow in changes.values():
        await slow.begun()
    for slow in changes.values():
        slow.let_go()
    await asyncio.wait_for(asyncio.gather(*edits), 5)
    assert [(tmp_path / name).read_text() for name in changes] == ["new", "new"]


@pytest.mark.covers("F1", "K103", "R032")
async def test_a_change_that_fails_does_not_block_the_next(
    files: DiskFiles, queue: WriteQueue, scope: RecordingContext, tmp_path: Path
) -> None:
    path = tmp_path / "a"
    path.write_text("A")
    ends = await asyncio.wait_for(
        asyncio.gather(
            files.edit(str(path), replacing("missing", "x"), scope),
            files.edit(str(path), replacing("A", "B"), scope),
            return_exceptions=True,
        ),
        5,
    )
    assert [type(end) for end in ends] == [ToolError, FileChange]
    assert path.read_text() == "B"
    assert len(queue) == 0


@pytest.mark.covers("F1", "R032")
async def test_spellings_and_links_of_one_file_share_a_queue(
    files: DiskFiles, scope: RecordingContext, tmp_path: Path
) -> None:
    (tmp_path / "real").write_text("A B")
    (tmp_path / "link").symlink_to("real")
    new = str(tmp_path / "new")
    await asyncio.wait_for(
        asyncio.gather(
            files.edit(str(tmp_path / "real"), replacing("A", "1"), scope),
            files.edit(str(tmp_path / "x" / ".." / "link"), replacing("B", "2"), scope),
            files.write(new, "x", scope),
            files.edit(new, replacing("x", "y"), scope),
        ),
        5,
    )
    assert ((tmp_path / "real").read_text(), (tmp_path / "new").read_text()) == ("1 2", "y")
    assert (tmp_path / "link").is_symlink()


@pytest.mark.covers("F1")
async def test_sessions_share_the_queue_and_not_the_record(
    files: DiskFiles, queue: WriteQueue, scope: RecordingContext, tmp_path: Path
) -> None:
    path = tmp_path / "a"
    path.write_text("old")
    other = DiskFiles(queue)
    await read_whole(files, path)
    slow = SlowChange("old", "new")
    edit = asyncio.create_task(files.edit(str(path), slow, scope))
    write = asyncio.create_task(other.write(str(path), "other", scope))
    await slow.begun()
    slow.let_go()
    await asyncio.wait_for(edit, 5)
    with pytest.raises(ToolError, match="has not been read"):
        await asyncio.wait_for(write, 5)
    assert path.read_text() == "new"


async def test_a_path_is_announced_while_its_write_waits_and_runs(
    files: DiskFiles, scope: RecordingContext, tmp_path: Path
) -> None:
    path = tmp_path / "a"
    path.write_text("old")
    slow, waiting = SlowChange("old", "new"), RecordingContext("call-2")
    first = asyncio.create_task(files.edit(str(path), slow, scope))
    second = asyncio.create_task(files.edit(str(path), replacing("new", "newer"), waiting))
    await slow.begun()
    assert (scope.pending, waiting.pending) == ([str(path)], [str(path)])
    assert (scope.commits, waiting.commits) == (1, 0)
    slow.let_go()
    await asyncio.wait_for(asyncio.gather(first, second), 5)
    assert (scope.pending, waiting.pending) == ([], [])


async def test_a_move_announces_both_paths(files: DiskFiles, scope: RecordingContext, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("text")
    old, new = str(tmp_path / "a"), str(tmp_path / "sub" / "b")
    change = await files.move(old, new, scope)
    made = (str(tmp_path / "sub"),)
    assert change == FileChange(new, "rename", "disk", None, "text", source=old, folders=made)
    assert scope.announced == [old, new]
    assert not (tmp_path / "a").exists()
    assert (tmp_path / "sub" / "b").read_text() == "text"


@pytest.mark.covers("F3")
async def test_what_was_read_is_known_under_the_new_name(
    files: DiskFiles, scope: RecordingContext, tmp_path: Path
) -> None:
    (tmp_path / "a").write_text("text")
    await read_whole(files, tmp_path / "a")
    await files.move(str(tmp_path / "a"), str(tmp_path / "b"), scope)
    await files.write(str(tmp_path / "b"), "new", scope)
    assert (tmp_path / "b").read_text() == "new"


async def test_a_move_never_goes_over_something(
    files: DiskFiles, scope: RecordingContext, tmp_path: Path
) -> None:
    (tmp_path / "a").write_text("a")
    (tmp_path / "b").write_text("b")
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "folder").mkdir()
    for name, reason in [
        ("b", "exists already"),
        ("dangling", "exists already"),
        ("folder", "is a directory"),
    ]:
        with pytest.raises(ToolError, match=reason):
            await files.move(str(tmp_path / "a"), str(tmp_path / name), scope)
    assert ((tmp_path / "a").read_text(), (tmp_path / "b").read_text()) == ("a", "b")


@pytest.mark.covers("R023")
@pytest.mark.parametrize("target", ["a", "./a", "sub/../a", "link", "sub/a"])
async def test_a_file_moved_onto_itself_stays(
    files: DiskFiles, scope: RecordingContext, tmp_path: Path, target: str
) -> None:
    (tmp_path / "a").write_text("content")
    (tmp_path / "link").symlink_to("a")
    (tmp_path / "sub").symlink_to(".")
    with pytest.raises(ToolError, match="are the same file"):
        await files.move(str(tmp_path / "a"), f"{tmp_path}/{target}", scope)
    assert (tmp_path / "a").read_text() == "content"


async def test_a_delete_tells_the_text_that_is_gone(
    files: DiskFiles, scope: RecordingContext, tmp_path: Path
) -> None:
    (tmp_path / "a").write_text("text")
    (tmp_path / "b").write_bytes(b"\0\1")
    deleted = [await files.delete(str(tmp_path / name), scope) for name in "ab"]
    assert deleted == [
        FileChange(str(tmp_path / "a"), "delete", "disk", "text", None),
        FileChange(str(tmp_path / "b"), "delete", "disk", None, None),
    ]
    assert os.listdir(tmp_path) == []


@pytest.mark.covers("F5", "K112")
async def test_what_cannot_come_back_the_same_is_refused_and_stays(
    files: DiskFiles, scope: RecordingContext, tmp_path: Path
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"caf\xe9\n")
    with pytest.raises(ToolError, match="byte 0xe9 in line 1 is not UTF-8"):
        await files.edit(str(path), replacing("caf", "CAF"), scope)
    with pytest.raises(ToolError, match="byte 0xe9 in line 1 is not UTF-8"):
        await files.write(str(path), "new", scope)
    assert path.read_bytes() == b"caf\xe9\n"


async def test_folders_and_missing_files_are_refused_with_help(
    files: DiskFiles, scope: RecordingContext, tmp_path: Path
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "main.py").touch()
    folder, missing = str(tmp_path / "folder"), str(tmp_path / "folder" / "Mian.py")
    for call in (
        files.read(folder),
        files.edit(folder, replacing("a", "b"), scope),
        files.write(folder, "x", scope),
        files.delete(folder, scope),
        files.move(folder, str(tmp_path / "other"), scope),
    ):
        with pytest.raises(ToolError, match=r"is a directory; name a file. It holds: main.py."):
            await call
    for call in (
        files.read(missing),
        files.edit(missing, replacing("a", "b"), scope),
        files.delete(missing, scope),
        files.move(missing, str(tmp_path / "other"), scope),
    ):
        with pytest.raises(ToolError, match=r"does not exist. Did you mean .*/main.py\?"):
            await call
    with pytest.raises(ToolError, match=f"nor does its folder; {tmp_path} does"):
        await files.read(str(tmp_path / "no" / "such" / "file"))
    with pytest.raises(ToolError, match="is a file, not a folder"):
        await files.write(f"{folder}/main.py/a", "x", scope)


async def test_errors_name_the_file_as_the_model_knows_it(queue: WriteQueue, tmp_path: Path) -> None:
    files = DiskFiles(queue, display=lambda path: os.path.relpath(path, tmp_path))
    with pytest.raises(ToolError) as caught:
        await files.read(str(tmp_path / "a"))
    assert str(caught.value) == "a does not exist. Use glob_file to find it."


@pytest.mark.covers("R136")
async def test_what_never_ends_is_refused_unread(files: DiskFiles, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with (tmp_path / "sparse").open("wb") as sparse:
        sparse.truncate(3 * 1024**3)
    for path in ("/dev/zero", str(tmp_path / "pipe")):
        with pytest.raises(ToolError, match="is a device, a pipe or a socket"):
            await asyncio.wait_for(files.read(path), 5)
    with pytest.raises(ToolError, match=r"has 3,221,225,472 bytes; files over 16,777,216"):
        await asyncio.wait_for(files.read(str(tmp_path / "sparse")), 5)


async def test_exists_follows_links(files: DiskFiles, tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    (tmp_path / "link").symlink_to("a")
    (tmp_path / "dangling").symlink_to("nowhere")
    found = [await files.exists(str(tmp_path / name)) for name in ("a", "link", "dangling", "missing")]
    assert found == [True, True, False, False]
