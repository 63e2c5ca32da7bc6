"""Cleaning of program output."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilothouse_agent.tools.shell.terminal_text import TerminalText

PIECES = [
    "ab",
    "c",
    "\n",
    "\r",
    "\r\n",
    "\b",
    "\0",
    "\t",
    "é",
    "\x1b[31m",
    "\x1b[K",
    "\x1b[2K",
    "\x1b[3G",
    "\x1b[1D",
]
STRINGS = ["\x1b]0;title\x07", "\x1b]8;;http://x\x1b\\", "\x1b[?25l", "\x1b(B", "\x1b7"]


def clean(*chunks: str) -> str:
    terminal = TerminalText()
    return "".join([*map(terminal.feed, chunks), terminal.finish()])


@pytest.mark.covers("R125")
@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("10%\r50%\r100%\n", "100%\n"),
        ("long text\rnew\n", "newg text\n"),
        ("long text\r\x1b[Knew\n", "new\n"),
        ("one\r\ntwo\r\r\n", "one\ntwo\n"),
        ("\x1b[31mred\x1b[0m\r\n", "red\n"),
        ("\x1b]0;a title\x07x\x1b]8;;http://e\x1b\\link\x1b]8;;\x1b\\", "xlink"),
        ("\x1b[?25l\x1b[?2004hx\x1b(B\x1b=", "x"),
        ("abc\b\bX", "aXc"),
        ("ab\x1b[1;5Hc\x1b[2Gz", "azc"),
        ("\x1b]unfinished title\nnext", "\nnext"),
        ("a\x07\x0b\x0cb\tc", "ab\tc"),
    ],
)
def test_a_line_is_what_a_terminal_would_show(raw: str, shown: str) -> None:
    assert clean(raw) == shown


@pytest.mark.covers("R122")
def test_nuls_are_made_visible() -> None:
    assert clean("\0\0x") == "\u2400\u2400x"


@given(st.lists(st.sampled_from(PIECES + STRINGS), max_size=30), st.lists(st.integers(0, 200), max_size=8))
@pytest.mark.covers("R125")
def test_it_does_not_matter_where_the_output_is_cut_into_chunks(pieces: list[str], cuts: list[int]) -> None:
    raw = "".join(pieces)
    edges = sorted({0, len(raw), *(cut for cut in cuts if cut < len(raw))})
    chunks = [raw[start:end] for start, end in pairwise(edges)]

    assert clean(*chunks) == clean(raw)


def test_a_progress_bar_that_never_ends_its_line_leaves_its_last_state() -> None:
    bar = [f"\r\x1b[K{percent} percent of everything" for percent in range(20_000)]

    assert clean(*bar) == "19999 percent of everything"


def test_repainting_by_carriage_return_alone_leaves_its_last_state() -> None:
    assert clean(*(f"{count:7}\r" for count in range(20_000)), "\ndone") == "  19999\ndone"


def test_a_very_long_line_arrives_whole() -> None:
    assert clean(*["x" * 1000] * 200, "\x1b[31m", "y" * 10, "\n") == "x" * 200_000 + "y" * 10 + "\n"


def test_a_far_cursor_move_makes_no_giant_line() -> None:
    assert len(clean("\x1b[999999999Cx")) < 20_000
