"""Parts of large files: found without reading all of it, told as parts, and known afterwards."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.file_tools import FileTools

pytestmark = pytest.mark.covers("R307")

LINES = 100_000


@pytest.fixture
def log(folder: Path) -> Path:
    """1.5 MB of numbered lines."""
    path = folder / "big.log"
    path.write_text("".join(f"line {number:09}\n" for number in range(1, LINES + 1)))
    return path


def told(first: int, last: int) -> str:
    return "".join(f"line {number:09}\n" for number in range(first, last + 1))


async def test_a_part_is_read_from_any_place(tools: FileTools, log: Path) -> None:
    header = "[big.log, lines {}, of 1,500,000 bytes]\n"
    parts = [await tools.read("big.log", offset=offset, limit=3) for offset in (1, 70_000, LINES - 2)]
    assert parts == [
        f"{header.format('1 to 3')}{told(1, 3)}[More lines, from offset 4 on.]",
        f"{header.format('70000 to 70002')}{told(70_000, 70_002)}[More lines, from offset 70003 on.]",
        header.format(f"{LINES - 2} to {LINES}") + told(LINES - 2, LINES),
    ]


async def test_the_tail_is_read_by_a_negative_offset(tools: FileTools, log: Path) -> None:
    header = "[big.log, {} from the end, of 1,500,000 bytes]\n"
    last, some = await tools.read("big.log", offset=-2), await tools.read("big.log", offset=-80_000, limit=1)
    assert last == header.format("lines -2 to -1") + told(LINES - 1, LINES)
    assert (
        some == header.format("line -80000") + told(20_001, 20_001) + "[More lines, from offset -79999 on.]"
    )


async def test_a_tail_longer_than_the_file_is_its_beginning(tools: FileTools, log: Path) -> None:
    part = await tools.read("big.log", offset=-10_000_000, limit=1)
    assert part == f"[big.log, line 1, of 1,500,000 bytes]\n{told(1, 1)}[More lines, from offset 2 on.]"


async def test_a_line_that_is_not_there_is_told_with_their_number(tools: FileTools, log: Path) -> None:
    refusals = [await tools.refused("read_file", path="big.log", offset=n) for n in (LINES + 1, 10**9)]
    with log.open("a") as file:
        file.write("unfinished")
    refusals.append(await tools.refused("read_file", path="big.log", offset=LINES + 2))
    assert refusals == [
        "big.log has 100000 lines, so none with the number 100001.",
        "big.log has 100000 lines, so none with the number 1000000000.",
        "big.log has 100001 lines, so none with the number 100002.",
    ]


async def test_a_missing_newline_at_the_end_is_told(tools: FileTools, log: Path) -> None:
    with log.open("a") as file:
        file.write("unfinished")
    assert (await tools.read("big.log", offset=-1)).endswith(
        "bytes]\nunfinished\n[No newline at the end of the file.]"
    )


async def test_small_files_have_a_tail_too(tools: FileTools, folder: Path) -> None:
    (folder / "a").write_text("1\n2\n3\n")
    assert [await tools.read("a", offset=offset) for offset in (-1, -2, -9)] == [
        "[a, lines 3-3 of 3]\n3\n",
        "[a, lines 2-3 of 3]\n2\n3\n",
        "[a, lines 1-3 of 3]\n1\n2\n3\n",
    ]


async def test_all_parts_put_together_are_the_file(tools: FileTools, folder: Path) -> None:
    text = "".join(f"{number} {'é😋' * (number % 97)}\r\n" for number in range(9_000))
    (folder / "big").write_bytes(text.encode())
    read, offset = "", 1
    while offset:
        _, _, part = (await tools.read("big", offset=offset)).partition("\n")
        part, _, more = part.partition("[More lines, from offset ")
        read, offset = read + part, int(more.partition(" ")[0] or 0)
    assert read == text
    await tools.write("big", "all of it is known\r\n")


async def test_a_file_of_which_parts_are_known_is_not_replaced(tools: FileTools, log: Path) -> None:
    await tools.read("big.log")
    refusal = await tools.refused("write_file", path="big.log", content="x")
    assert refusal.startswith(
        "big.log was not replaced: only lines 1-2000 of its 100000 lines have been read."
    )
    log.write_text(log.read_text().replace("line 000000007", "line seven"))
    refusal = await tools.refused("write_file", path="big.log", content="x")
    assert refusal.startswith("big.log was not replaced: it has changed since it was read.")


async def test_a_line_as_long_as_the_file_is_shown_by_its_beginning(tools: FileTools, folder: Path) -> None:
    (folder / "big").write_text("a" + "😋" * 400_000, encoding="utf-8")
    header, text, note = (await tools.read("big")).split("\n")
    assert header == "[big, line 1, of 1,600,001 bytes]"
    assert text == "a" + "😋" * 12_799
    assert note.startswith("[This is the beginning of line 1, which is too long to be shown whole;")


@pytest.mark.parametrize(
    ("encoding", "mark", "name"),
    [("utf-8-sig", "", "utf-8 with byte order mark"), ("shift_jis", "# coding: shift_jis\n", "shift_jis")],
)
async def test_parts_are_read_in_the_encoding_of_the_file(
    tools: FileTools, folder: Path, encoding: str, mark: str, name: str
) -> None:
    (folder / "big").write_bytes((mark + "名前 = 1\n" * 150_000).encode(encoding))
    first, later = [await tools.read("big", offset=offset, limit=2) for offset in (1, 90_000)]
    assert f", {name}]\n" in first
    assert later.partition("\n")[2] == "名前 = 1\n" * 2 + "[More lines, from offset 90002 on.]"


async def test_wide_letters_are_read_as_a_whole(tools: FileTools, folder: Path) -> None:
    (folder / "big").write_bytes(("\ufeff" + "line\n" * 150_000).encode("utf-16-le"))
    part = await tools.read("big", offset=-1)
    assert part == "[big, lines 150000-150000 of 150000, utf-16-le with byte order mark]\nline\n"


async def test_what_is_no_text_is_told_of_the_part(tools: FileTools, log: Path) -> None:
    with log.open("ab") as file:
        file.write(b"\xffx\n\0\n")
    assert [await tools.refused("read_file", path="big.log", offset=n) for n in (-1, LINES + 1)] == [
        "big.log, from line -1 on, is a binary file (it holds NUL bytes), not text.",
        "big.log, from line 100001 on, is a binary file (it holds NUL bytes), not text.",
    ]
    assert (await tools.read("big.log", limit=1)).startswith("[big.log, line 1, of ")


@pytest.fixture
def huge(folder: Path) -> Iterator[Path]:
    path = folder / "huge.log"
    with path.open("wb") as file:
        for _ in range(110):
            file.write(b"x" * 99 + b"\n" + b"another line of it\n" * 52_000)
    yield path
    path.unlink()


@pytest.mark.slow
async def test_of_100_megabytes_only_the_part_is_held(tools: FileTools, huge: Path) -> None:
    assert huge.stat().st_size > 100_000_000
    await tools.read("huge.log", limit=1)
    tracemalloc.start()
    try:
        parts = [await tools.read("huge.log", offset=n, limit=1) for n in (1, 5_000_000, -1, -4_000_000)]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert [part.splitlines()[1][:7] for part in parts] == ["xxxxxxx", "another", "another", "another"]
    assert peak < 2_000_000


LOOK = """
import sys
from pilothouse_agent.files.disk import Disk
from pilothouse_agent.files.disk_texts import DiskTexts

texts = DiskTexts(Disk(), str, lambda path: None)
part = texts.part(sys.argv[1], int(sys.argv[2]), 1000)
with open("/proc/self/io") as file:
    counts = dict(line.split(": ") for line in file)
print(int(counts["rchar"]) < 20_000_000, part.text.splitlines()[-1])
"""


@pytest.mark.slow
@pytest.mark.parametrize("offset", ["1", "-3"])
def test_a_range_at_either_end_costs_what_the_range_costs(huge: Path, offset: str) -> None:
    command = [sys.executable, "-c", LOOK, str(huge), offset]
    run = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
    assert run.stdout == "True another line of it\n"
