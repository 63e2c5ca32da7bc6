"""read_file: the text as it stands, notes around it, and helpful refusals."""

from __future__ import annotations

import asyncio
import os
from base64 import b64decode
from pathlib import Path

import pytest

from pilothouse_agent.kernel.events import Location
from pilothouse_agent.kernel.messages import ImageBlock, TextBlock
from pilothouse_agent.kernel.tooling import Footprint, InvalidArguments, ToolResult, Touch
from support.file_tools import FileTools

PIXEL = b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


async def test_the_text_stands_between_notes(tools: FileTools, folder: Path) -> None:
    (folder / "a.py").write_text("x = 1\ny = 2\n")
    assert await tools.run("read_file", path="a.py") == ToolResult.text(
        "[a.py, lines 1-2 of 2]\nx = 1\ny = 2\n"
    )


async def test_a_part_is_read_by_offset_and_limit(tools: FileTools, folder: Path) -> None:
    (folder / "a").write_text("".join(f"{number}\n" for number in range(1, 11)))
    assert (
        await tools.read("a", offset=3, limit=2)
        == "[a, lines 3-4 of 10]\n3\n4\n[6 more lines, from offset 5 on.]"
    )
    assert await tools.read("a", offset="9") == "[a, lines 9-10 of 10]\n9\n10\n"
    assert (
        await tools.refused("read_file", path="a", offset=11) == "a has 10 lines, so none with the number 11."
    )


async def test_an_empty_file_is_called_empty(tools: FileTools, folder: Path) -> None:
    (folder / "a").touch()
    assert await tools.read("a") == "[a is empty]"


@pytest.mark.covers("R046")
async def test_a_missing_final_newline_is_told(tools: FileTools, folder: Path) -> None:
    (folder / "a").write_text("x\ny")
    assert await tools.read("a") == "[a, lines 1-2 of 2]\nx\ny\n[No newline at the end of the file.]"
    assert await tools.read("a", limit=1) == "[a, lines 1-1 of 2]\nx\n[1 more line, from offset 2 on.]"


@pytest.mark.covers("R041", "R044")
@pytest.mark.parametrize(
    ("data", "header"),
    [
        (b"\xef\xbb\xbfhi\n", "[a, lines 1-1 of 1, utf-8 with byte order mark]"),
        (b"\xff\xfeh\0i\0\n\0", "[a, lines 1-1 of 1, utf-16-le with byte order mark]"),
        (b"\xfe\xff\0h\0i\0\n", "[a, lines 1-1 of 1, utf-16-be with byte order mark]"),
    ],
)
async def test_a_mark_is_never_text_and_an_unusual_encoding_is_told(
    tools: FileTools, folder: Path, data: bytes, header: str
) -> None:
    (folder / "a").write_bytes(data)
    assert await tools.read("a") == f"{header}\nhi\n"


async def test_line_ends_are_told_and_given_as_they_are(tools: FileTools, folder: Path) -> None:
    (folder / "a").write_bytes(b"a\r\nb\r\n")
    (folder / "b").write_bytes(b"a\r\nb\n")
    assert await tools.read("a") == "[a, lines 1-2 of 2, CR LF line ends]\na\r\nb\r\n"
    assert await tools.read("b") == "[b, lines 1-2 of 2, LF and CR LF line ends]\na\r\nb\n"


@pytest.mark.covers("T10")
async def test_a_long_file_is_cut_at_a_line_and_the_rest_can_be_read(tools: FileTools, folder: Path) -> None:
    text = "".join(f"line {number}\n" for number in range(1, 4002))
    (folder / "a").write_text(text)
    first, second, third = [await tools.read("a", offset=offset) for offset in (1, 2001, 4001)]
    assert first.endswith("\nline 2000\n[2001 more lines, from offset 2001 on.]")
    assert second.endswith("\nline 4000\n[1 more line, from offset 4001 on.]")
    assert third == "[a, lines 4001-4001 of 4001]\nline 4001\n"
    await tools.write("a", "all of it is known")


@pytest.mark.covers("T10")
async def test_wide_lines_are_cut_by_their_bytes_at_a_line(tools: FileTools, folder: Path) -> None:
    (folder / "a").write_text(("é" * 5_000 + "\n") * 10, encoding="utf-8")
    assert (await tools.read("a")).endswith("é\n[5 more lines, from offset 6 on.]")


@pytest.mark.covers("T10")
async def test_a_line_too_long_is_cut_between_characters(tools: FileTools, folder: Path) -> None:
    (folder / "a").write_text("a" + "😋" * 60_000 + "\nnext\n", encoding="utf-8")
    header, text, note = (await tools.read("a")).split("\n")
    assert (header, text) == ("[a, line 1 of 2]", "a" + "😋" * 12_799)
    assert note == (
        "[This is the beginning of line 1, which is too long to be shown whole; see more of it with bash "
        "(cut -c). The lines after it begin at offset 2.]"
    )
    assert "has not been read" not in await tools.refused("write_file", path="a", content="x")
    assert await tools.read("a", offset=2) == "[a, lines 2-2 of 2]\nnext\n"


async def test_half_characters_are_shown_as_such(tools: FileTools, folder: Path) -> None:
    (folder / "a").write_bytes(b"a\xed\xa0\x80b\n")
    assert await tools.read("a") == (
        "[a, lines 1-1 of 1]\na\ufffdb\n"
        "[Where \ufffd is shown, the file has half a character that cannot be copied.]"
    )


async def test_an_image_is_given_along(tools: FileTools, folder: Path) -> None:
    (folder / "a.png").write_bytes(PIXEL)
    (block, image) = (await tools.run("read_file", path="a.png")).content
    assert block == TextBlock("[a.png, image/png, 70 bytes]")
    assert isinstance(image, ImageBlock)
    assert (image.media_type, b64decode(image.data)) == ("image/png", PIXEL)


@pytest.mark.covers("R136")
async def test_what_is_no_text_is_refused_and_the_next_read_works(tools: FileTools, folder: Path) -> None:
    (folder / "src").mkdir()
    (folder / "src" / "b.py").touch()
    (folder / "a").write_text("a\n")
    (folder / "binary").write_bytes(b"RIFF\0\0\0\0WAVE")
    os.mkfifo(folder / "pipe")
    with (folder / "sparse").open("wb") as sparse:
        sparse.truncate(3 * 1024**3)
    refusals = [
        await tools.refused("read_file", path=path)
        for path in ("src", "/dev/zero", "pipe", "sparse", "binary")
    ]
    assert refusals == [
        "src is a directory; name a file. It holds: b.py.",
        "/dev/zero is a device, a pipe or a socket, not a file that can be read to its end.",
        "pipe is a device, a pipe or a socket, not a file that can be read to its end.",
        "sparse, from line 1 on, is a binary file (it holds NUL bytes), not text.",
        "binary is a binary file (it holds NUL bytes), not text.",
    ]
    assert await tools.read("a") == "[a, lines 1-1 of 1]\na\n"


async def test_a_missing_file_is_answered_with_near_names(tools: FileTools, folder: Path) -> None:
    (folder / "src").mkdir()
    (folder / "src" / "Parser.py").touch()
    assert await tools.refused("read_file", path="src/parsr.py") == (
        "src/parsr.py does not exist. Did you mean src/Parser.py?"
    )


@pytest.mark.covers("R067")
async def test_paths_are_accepted_as_they_were_printed(tmp_path: Path) -> None:
    app, sdk = tmp_path / "app", tmp_path / "sdk"
    files = [app / "a.py", sdk / "a.py", sdk / "b c.py", app / "sdk" / "é#%20.py", sdk / "~x", sdk / "a\\b"]
    for file in files:
        file.parent.mkdir(exist_ok=True)
        file.write_text("text\n")
    tools = await asyncio.to_thread(FileTools, app, sdk)
    for file in files:
        printed = (await tools.read(str(file))).removeprefix("[").partition(", lines 1-1 of 1]")[0]
        assert await tools.read(printed) == f"[{printed}, lines 1-1 of 1]\ntext\n"
        assert (await tools.edit(printed, ("text", "new"))).startswith(f"Edited {printed}: 1 line added")
        assert file.read_text() == "new\n"
    suggested = await tools.refused("read_file", path=str(sdk / "b-c.py"))
    assert await tools.read(suggested.partition("Did you mean ")[2].split(", ")[0].rstrip("?"))


@pytest.mark.covers("R059")
async def test_a_uri_is_read_and_backslashes_are_refused(tools: FileTools, folder: Path) -> None:
    (folder / "a.py").write_text("x\n")
    assert await tools.read((folder / "a.py").as_uri()) == "[a.py, lines 1-1 of 1]\nx\n"
    with pytest.raises(InvalidArguments, match="Use forward slashes"):
        await tools.bind("read_file", path="src\\a.py")


async def test_arguments_that_do_not_fit_are_all_listed(tools: FileTools) -> None:
    with pytest.raises(InvalidArguments) as caught:
        await tools.bind("read_file", offset=0, limit="many")
    assert [violation.path for violation in caught.value.violations] == ["path", "offset", "limit"]


async def test_the_call_tells_where_it_reads(tools: FileTools, folder: Path) -> None:
    (folder / "real").touch()
    (folder / "link").symlink_to("real")
    call = await tools.bind("read_file", path="./link", offset=7)
    real = str(folder / "real")
    assert (call.title, call.command) == ("Read link", None)
    assert call.footprint == Footprint(reads=(Touch(real),))
    assert call.locations == (Location(real, 7),)


async def test_a_path_that_leads_elsewhere_than_when_it_was_judged_is_refused(
    tools: FileTools, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("TOKEN")
    (folder / "a").write_text("a")
    call = await tools.bind("read_file", path="a")
    (folder / "a").unlink()
    (folder / "a").symlink_to(tmp_path / "secret")
    assert await tools.execution_refused(call) == (
        f"a led to {folder}/a when this call was judged, and leads to {tmp_path}/secret now. "
        "Nothing was done; issue the call again."
    )
