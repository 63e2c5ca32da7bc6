"""write_file: exact bytes, never over what the model does not know."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pilothouse_agent.kernel.events import FileChanged, Location
from pilothouse_agent.kernel.messages import TextBlock
from pilothouse_agent.kernel.tooling import FileDiff, Footprint, Hunk, Preview, ToolError, ToolResult, Touch
from support.context import RecordingContext
from support.file_tools import FileTools


@pytest.mark.covers("R046")
async def test_the_bytes_are_the_content_and_a_missing_newline_is_told(
    tools: FileTools, folder: Path
) -> None:
    assert await tools.write("n", "x") == "Created n, 1 line.\n[No newline at the end of the file.]"
    assert (folder / "n").read_bytes() == b"x"
    assert (await tools.read("n")).endswith("x\n[No newline at the end of the file.]")


async def test_the_result_tells_of_the_new_file(tools: FileTools, folder: Path) -> None:
    call = await tools.bind("write_file", path="src/a.py", content="x\ny\n")
    path = str(folder / "src" / "a.py")
    assert call.footprint == Footprint(writes=(Touch(path), Touch(str(folder / "src"))))
    assert await call.execute(RecordingContext("c1")) == ToolResult(
        (TextBlock("Created src/a.py, 2 lines."),),
        details={
            "path": path,
            "change": "create",
            "hunks": [{"oldStart": 1, "newStart": 1, "lines": ["+x\n", "+y\n"]}],
        },
        locations=(Location(path, 1),),
        effects=(FileChanged(path, "create", "disk", 2, 0, "c1"),),
    )


@pytest.mark.covers("F3", "R007")
async def test_an_existing_file_is_replaced_only_after_it_was_read(tools: FileTools, folder: Path) -> None:
    (folder / "a").write_text("precious")
    assert await tools.refused("write_file", path="a", content="x") == (
        "a was not replaced: it exists and has not been read. "
        "Read it with read_file first, then write it again."
    )
    assert (folder / "a").read_text() == "precious"
    await tools.read("a")
    assert await tools.write("a", "x2\n") == "Replaced a, now 1 line: 1 line added, 1 removed."
    assert await tools.write("new", "n\n") == "Created new, 1 line."


@pytest.mark.covers("F3", "R004")
async def test_a_file_that_changed_since_it_was_read_is_not_replaced(tools: FileTools, folder: Path) -> None:
    (folder / "a").write_text("v1")
    await tools.read("a")
    (folder / "a").write_text("v2-user")
    assert "it has changed since it was read" in await tools.refused("write_file", path="a", content="agent")
    assert (folder / "a").read_text() == "v2-user"
    await tools.read("a")
    await tools.write("a", "agent")
    assert (folder / "a").read_text() == "agent"


@pytest.mark.covers("F3")
async def test_reads_of_parts_add_up(tools: FileTools, folder: Path) -> None:
    (folder / "a").write_text("1\n2\n3\n")
    await tools.read("a", limit=2)
    assert "only lines 1-2 of its 3 lines have been read. Read the rest" in await tools.refused(
        "write_file", path="a", content="x"
    )
    await tools.read("a", offset=3)
    await tools.write("a", "x")
    assert (folder / "a").read_text() == "x"


@pytest.mark.covers("F3")
async def test_a_read_of_one_session_does_not_count_for_another(tools: FileTools, folder: Path) -> None:
    (folder / "a").write_text("v1")
    await tools.read("a")
    other = await asyncio.to_thread(FileTools, folder, queue=tools.queue)
    assert "has not been read" in await other.refused("write_file", path="a", content="x")


async def test_a_replaced_file_keeps_its_line_ends(tools: FileTools, folder: Path) -> None:
    (folder / "a").write_bytes(b"a\r\nb\r\n")
    await tools.read("a")
    assert await tools.write("a", "1\n2\n3\n") == (
        "Replaced a, now 3 lines: 3 lines added, 2 removed. Its CR LF line ends were kept."
    )
    assert (folder / "a").read_bytes() == b"1\r\n2\r\n3\r\n"


class CancellingContext(RecordingContext):
    """The call is cancelled just when its write has been made."""

    @contextmanager
    def committing(self) -> Generator[None]:
        with super().committing():
            yield
        task = asyncio.current_task()
        assert task is not None
        task.cancel()


@pytest.mark.covers("F4")
@pytest.mark.parametrize("name", ["write_file", "delete_file"])
async def test_a_change_that_is_made_is_told_in_spite_of_a_cancellation(
    tools: FileTools, folder: Path, name: str
) -> None:
    if name == "delete_file":
        (folder / "a").write_text("x\n")
    call = await tools.bind(name, path="a", **({"content": "x\n"} if name == "write_file" else {}))
    result = await asyncio.wait_for(asyncio.create_task(call.execute(CancellingContext())), 5)
    (effect,) = result.effects
    assert isinstance(effect, FileChanged)
    assert (effect.path, effect.lines_added + effect.lines_removed) == (str(folder / "a"), 1)


async def test_the_same_content_is_no_change(tools: FileTools, folder: Path) -> None:
    (folder / "a").write_text("same\n")
    result = await tools.run("write_file", path="a", content="same\n")
    assert result.content == (TextBlock("a has exactly this content already; it was left as it is."),)
    assert result.effects == ()


async def test_the_preview_shows_the_file_before_and_after(tools: FileTools, folder: Path) -> None:
    path = str(folder / "a")
    planned = tools.files.plan()
    create = await tools.bind("write_file", path="a", content="1\n")
    replace = await tools.bind("write_file", path="a", content="2\n")
    assert await create.preview(planned) == Preview((FileDiff(path, None, "1\n", (Hunk(1, 1, ("+1\n",)),)),))
    assert await replace.preview(planned) == Preview(
        (FileDiff(path, "1\n", "2\n", (Hunk(1, 1, ("-1\n", "+2\n")),)),)
    )
    assert not Path(path).exists()


@pytest.mark.covers("R017")
async def test_a_write_that_cannot_succeed_asks_nobody(tools: FileTools, folder: Path) -> None:
    (folder / "binary").write_bytes(b"\0")
    for path, content in (("binary", "x"), (".", "x"), ("a", "\0"), ("a", "\ud800")):
        call = await tools.bind("write_file", path=path, content=content)
        planned = tools.files.plan()
        with pytest.raises(ToolError):
            await call.preview(planned)
        planned.mark_uncertain()
        assert await call.preview(planned) is None


@pytest.mark.covers("R025", "R061")
async def test_a_link_that_leads_outside_is_told_and_one_put_there_later_is_refused(
    tools: FileTools, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "shared.env").write_text("KEEP=1")
    (folder / ".env").symlink_to(tmp_path / "shared.env")
    (folder / "dangling").symlink_to(tmp_path / "out" / "created")
    env, dangling, late = [
        await tools.bind("write_file", path=path, content="X=1") for path in (".env", "dangling", "late")
    ]
    assert env.footprint == Footprint(writes=(Touch(str(tmp_path / "shared.env")),))
    assert dangling.footprint == Footprint(
        writes=(Touch(str(tmp_path / "out" / "created")), Touch(str(tmp_path / "out")))
    )
    (folder / "late").symlink_to(tmp_path / "late")
    assert "has not been read" in await tools.execution_refused(env)
    assert "Nothing was done; issue the call again" in await tools.execution_refused(late)
    assert (tmp_path / "shared.env").read_text() == "KEEP=1"
    assert not (tmp_path / "late").exists()


@pytest.mark.covers("R059")
async def test_no_file_with_backslashes_in_its_name_is_made(tools: FileTools, folder: Path) -> None:
    with pytest.raises(Exception, match="Use forward slashes"):
        await tools.bind("write_file", path="src\\new.py", content="x")
    assert list(folder.iterdir()) == []
