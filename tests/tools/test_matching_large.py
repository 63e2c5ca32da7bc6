"""Edits of large texts: the time is that of reading them, however often and wherever something is found.

Each case took minutes where a match had its own cost; the limit that every test has is the measure.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilothouse_agent.kernel.tooling import ToolError
from pilothouse_agent.tools.files.matching import Edit, apply_edits

pytestmark = pytest.mark.covers("R236")

LINE = "z" * 2_000_000
LETTERS = "".join(chr(97 + (n * n + n // 7) % 26) for n in range(1_000_000))


def refusal(text: str, edit: Edit) -> str:
    with pytest.raises(ToolError) as caught:
        apply_edits(text, [edit], name="a.py")
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "old", "place"),
    [
        (LINE, "zzz", "in line 1"),
        (LINE, "z" * 900_000, "in line 1"),
        ("“z” " * 200_000, '"z"', "in line 1"),
        ("z\n" * 500_000, "z\nz\n", "in lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10"),
        ("z\r\n" * 500_000, "z\nz\n", "in lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10"),
    ],
    ids=["letters", "long", "quotes", "lines", "other line ends"],
)
def test_what_stands_there_very_often_is_told_by_its_first_places(text: str, old: str, place: str) -> None:
    assert f" in a.py more than 10 times, {place}, …. Give more lines" in refusal(text, Edit(old, "y"))


def test_ten_places_are_counted_and_eleven_are_not() -> None:
    assert "10 times, in line 1. " in refusal("z " * 10, Edit("z", "y"))
    assert "more than 10 times, in line 1, …. " in refusal("z " * 11, Edit("z", "y"))


@pytest.mark.parametrize(
    ("text", "old", "new", "after"),
    [
        (LINE, "z", "y", LINE.replace("z", "y")),
        (LINE, "zz", "a\nb", "a\nb" * 1_000_000),
        ("z\r\n" * 200_000, "z\n", "\n", "\r\n" * 200_000),
        ("z\r\nz\n" * 50_000, "z\n", "yy\n", "z\r\nyy\n" * 50_000),
    ],
    ids=["letters", "lines made", "other line ends", "both line ends"],
)
def test_what_stands_everywhere_is_replaced_everywhere(text: str, old: str, new: str, after: str) -> None:
    assert apply_edits(text, [Edit(old, new, replace_all=True)]) == after


def test_blanks_that_are_forgiven_at_a_line_end_do_not_cost_a_look_at_each_place() -> None:
    text = "z" * 1_000_000 + "\nend"
    assert apply_edits(text, [Edit("z" * 400_000 + " ", "y")]) == "z" * 600_000 + "y\nend"


@pytest.mark.parametrize(
    "wanted",
    [
        lambda: LETTERS[5_000:9_000] + "!",
        lambda: LETTERS[:-3] + "!!!",
        lambda: "\n".join(LETTERS[n : n + 60] for n in range(0, 900_000, 61)) + "!",
    ],
    ids=["part of a line", "a line", "many lines"],
)
@pytest.mark.parametrize("width", [60, 1_000, 10_000_000])
def test_what_is_not_there_is_told_soon(wanted: Callable[[], str], width: int) -> None:
    text = "\n".join(LETTERS[n : n + width] for n in range(0, len(LETTERS), width))
    assert refusal(text, Edit(wanted(), "y")).startswith("old_text is not in a.py. ")


def test_half_a_line_end_is_no_place_however_many_there_are() -> None:
    assert "more than 10 times" in refusal("\r\n" * 300_000, Edit("\n" + "\r\n" * 100_000, "y"))


def test_the_nearest_line_is_the_one_most_alike() -> None:
    lines = [f"value_{n} = compute({n}, {n * n})" for n in range(20_000)]
    assert "The nearest text is in line 15001:" in refusal(
        "\n".join(lines), Edit("value_15000 = compute(15000, 225000001)", "y")
    )


@given(st.text("ab\n", max_size=12), st.text("ab\n", min_size=1, max_size=3), st.text("abc\n", max_size=3))
def test_every_place_is_replaced_as_one_edit_after_the_other_would(text: str, old: str, new: str) -> None:
    text += "\n"
    after = text.replace(old, new)
    for ends in ("\n", "\r\n"):
        if after != text:
            edit = Edit(old, new, replace_all=True)
            assert apply_edits(text.replace("\n", ends), [edit]) == after.replace("\n", ends)
