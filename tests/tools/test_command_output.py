"""Excerpts, files and progress of command output, without a process."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilothouse_agent.tools.shell.excerpt import Excerpt, Extract
from pilothouse_agent.tools.shell.output import CommandOutput, OutputLimits
from pilothouse_agent.tools.shell.progress import Progress


def extract(*texts: str, lines: int, size: int) -> Extract:
    excerpt = Excerpt(lines=lines, size=size)
    for text in texts:
        excerpt.add(text)
    return excerpt.extract()


@pytest.mark.covers("R124")
def test_between_a_short_head_and_the_last_lines_the_omitted_ones_are_counted() -> None:
    text = "".join(f"{number}\n" for number in range(1, 101))

    assert extract(text, lines=40, size=5000) == Extract(
        head="".join(f"{number}\n" for number in range(1, 51)),
        tail="".join(f"{number}\n" for number in range(61, 101)),
        complete=False,
        omitted_lines=10,
        omitted_characters=30,
    )


@pytest.mark.covers("T10")
def test_a_single_long_line_shows_both_its_ends() -> None:
    cut = extract("a" * 500 + "z" * 500, lines=10, size=200)

    assert cut == Extract("a" * 20, "z" * 180, complete=False, omitted_lines=0, omitted_characters=800)


@given(st.lists(st.text("aé😀\n", max_size=60), max_size=12), st.integers(1, 8), st.integers(10, 80))
@pytest.mark.covers("T10", "R124")
def test_what_is_shown_is_a_beginning_and_an_end_within_the_limits(
    texts: list[str], lines: int, size: int
) -> None:
    whole = "".join(texts)
    cut = extract(*texts, lines=lines, size=size)
    fits = len(whole.encode()) <= size and len(whole.splitlines()) <= lines

    assert cut.complete == fits
    assert whole.startswith(cut.head)
    assert whole.endswith(cut.tail)
    assert len(cut.head) + len(cut.tail) + cut.omitted_characters == len(whole)
    assert len((cut.head + cut.tail).encode()) <= size
    assert len(cut.tail.splitlines()) <= lines


@pytest.mark.covers("T10")
async def test_the_file_of_a_long_output_ends_at_its_cap_and_says_so(tmp_path: Path) -> None:
    output = CommandOutput(lambda text: None, tmp_path, OutputLimits(lines=3, size=100, file=12))
    await output.add(b"one\ntwo\nthree\nfour\nfive\n")
    text, path = await output.finish()

    assert path is not None
    assert Path(path).read_bytes() == b"one\ntwo\nthre"
    assert text == (
        "one\n[… 1 line left out (4 characters); the first 12 of 24 bytes of it are in "
        f"{path} …]\nthree\nfour\nfive"
    )


async def test_output_that_is_shown_whole_leaves_no_file(tmp_path: Path) -> None:
    output = CommandOutput(lambda text: None, tmp_path, OutputLimits())
    for _ in range(50):
        await output.add(b"working\r" * 2_000)
    await output.add(b"\ndone\n")

    assert await output.finish() == ("working\ndone", None)
    assert list(tmp_path.iterdir()) == []


async def test_a_folder_that_cannot_be_written_costs_only_the_file(tmp_path: Path) -> None:
    blocker = tmp_path / "file"
    blocker.write_bytes(b"")
    output = CommandOutput(lambda text: None, blocker / "folder", OutputLimits(lines=1))
    await output.add(b"one\ntwo\nthree\n")

    text, path = await output.finish()

    assert path is None
    assert text.endswith("the whole output could not be kept (Not a directory) …]\nthree")


@pytest.mark.covers("R121")
async def test_a_character_split_over_two_chunks_arrives_whole(tmp_path: Path) -> None:
    shown: list[str] = []
    output = CommandOutput(shown.append, tmp_path, OutputLimits())
    for chunk in (b"a\xe2\x82", b"\xac\xf0", b"b"):
        await output.add(chunk)

    assert await output.finish() == ("a€\ufffdb", None)
    assert "".join(shown) == "a€\ufffdb"


async def test_progress_is_batched_behind_the_first_text() -> None:
    reports: asyncio.Queue[str] = asyncio.Queue()
    progress = Progress(reports.put_nowait, interval=0.01)
    for text in ("first", "a", "b", "c"):
        progress.add(text)

    async with asyncio.timeout(5):
        assert [await reports.get(), await reports.get()] == ["first", "abc"]
    progress.close()


async def test_closing_reports_what_is_left() -> None:
    reports: list[str] = []
    progress = Progress(reports.append, interval=60)
    progress.add("first")
    progress.add("last")
    progress.close()

    assert reports == ["first", "last"]


async def test_a_flood_of_progress_is_thinned_with_a_note() -> None:
    reports: list[str] = []
    progress = Progress(reports.append, interval=60)
    for chunk in ["first", *["x" * 50_000] * 4, "end"]:
        progress.add(chunk)
    progress.close()

    assert [reports[0], reports[1][:40], len(reports[1]), reports[1][-4:]] == [
        "first",
        "\n[134,467 characters not shown]\n" + "x" * 8,
        65_536 + 32,
        "xend",
    ]


async def test_progress_has_no_control_sequences_even_when_they_come_in_parts() -> None:
    reports: list[str] = []
    progress = Progress(reports.append, interval=60)
    for chunk in ("a\x1b[3", "1mred\x1b[0m\r", "\nb\rc\0\x1b]0;title\x07"):
        progress.add(chunk)
    progress.close()

    assert "".join(reports) == "ared\nb\nc\u2400"
