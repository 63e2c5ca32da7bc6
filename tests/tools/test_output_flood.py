"""Output by the megabyte: only its beginning and its end are read, and both are right."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from pilothouse_agent.tools.shell.output import CommandOutput, OutputLimits

CHUNK = 65_536
Line = Callable[[int], str]


async def told(folder: Path, data: bytes, reported: list[str], limits: OutputLimits) -> str:
    output = CommandOutput(reported.append, folder, limits)
    for start in range(0, len(data), CHUNK):
        await output.add(data[start : start + CHUNK])
    text, path = await output.finish()
    assert path is not None
    assert Path(path).read_bytes() == data
    return text.replace(path, "FILE")


def excerpt(lines: Sequence[str], head: int, tail: int) -> str:
    omitted = lines[head : len(lines) - tail]
    characters = sum(len(line) + 1 for line in omitted)
    notice = f"[… {len(omitted):,} lines left out ({characters:,} characters); the whole output is in FILE …]"
    return "\n".join([*lines[:head], notice, *lines[-tail:]])


@pytest.mark.covers("R304")
@pytest.mark.parametrize("size", [3_000_000, 4_300_000, 5_400_000, 12_000_000])
@pytest.mark.parametrize("line", ["line {} of many", "Zeile {} ä € 😀"])
async def test_head_tail_and_count_are_exact(tmp_path: Path, size: int, line: str) -> None:
    count = size // len(line.encode())
    lines = [line.format(number) for number in range(count)]

    text = await told(tmp_path, "\n".join([*lines, ""]).encode(), [], OutputLimits(lines=5, size=20_000))

    assert text == excerpt(lines, 50, 5)


@pytest.mark.covers("R304")
async def test_the_end_is_cleaned_as_a_terminal_would_show_it(tmp_path: Path) -> None:
    flood = b"\x1b[32mgreen\x1b[0m line\r\n" * 400_000
    end = b"10 %\r55 %\r100 %\n\x1b]0;title\x07caf\xc3\xa9 \xff\nlast"

    text = await told(tmp_path, flood + end, [], OutputLimits(lines=4, size=10_000))

    assert text.startswith("green line\ngreen line\n")
    assert text.endswith("…]\ngreen line\n100 %\ncafé \ufffd\nlast")


@pytest.mark.covers("R304")
async def test_one_line_without_end_shows_both_its_ends(tmp_path: Path) -> None:
    data = ("ä" * 3_000_000 + "z").encode()

    text = await told(tmp_path, data, [], OutputLimits(size=1_000))

    head, notice, tail = text.split("\n")
    assert (set(head), tail[-1], set(tail[:-1])) == ({"ä"}, "z", {"ä"})
    assert len(head.encode()) + len(tail.encode()) <= 1_000
    omitted = f"{3_000_001 - len(head) - len(tail):,} characters"
    assert notice == f"[… part of a long line left out ({omitted}); the whole output is in FILE …]"


@pytest.mark.covers("R304")
async def test_progress_of_a_flood_stays_small_and_says_what_was_dropped(tmp_path: Path) -> None:
    reported: list[str] = []
    data = b"x" * 79 + b"\n"

    await told(tmp_path, data * 400_000, reported, OutputLimits())

    shown = "".join(reported)
    notes = re.findall(r"\n\[([\d,]+) characters not shown\]\n", shown)
    dropped = sum(int(number.replace(",", "")) for number in notes)
    text = re.sub(r"\n\[[\d,]+ characters not shown\]\n", "", shown)
    assert (len(shown) < 1_000_000, len(text) + dropped) == (True, len(data) * 400_000)
