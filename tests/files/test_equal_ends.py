"""What two texts have in common at their ends."""

from __future__ import annotations

from itertools import takewhile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilothouse_agent.files.equal_ends import equal_end, equal_ends, equal_start

PIECES = st.lists(st.sampled_from(["a", "b", "\n", "ab\n" * 3000, "a" * 4096]), max_size=6).map("".join)


def same(old: str, new: str) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))


@given(head=PIECES, one=PIECES, other=PIECES, tail=PIECES, most=st.integers(0, 30_000))
def test_it_is_found_to_the_character(head: str, one: str, other: str, tail: str, most: int) -> None:
    old, new = head + one + tail, head + other + tail
    most = min(most, len(old), len(new))

    assert equal_start(old, new) == same(old, new)
    assert equal_end(old, new, most=most) == min(same(old[::-1], new[::-1]), most)


@given(head=PIECES, one=PIECES, other=PIECES, tail=PIECES)
def test_whole_lines_never_overlap(head: str, one: str, other: str, tail: str) -> None:
    old, new = head + one + tail, head + other + tail
    top, bottom = equal_ends(old, new)

    assert old[:top] == new[:top]
    assert old[len(old) - bottom :] == new[len(new) - bottom :]
    assert top + bottom <= min(len(old), len(new))
    assert old[:top].endswith("\n") or top == 0
    assert old[: len(old) - bottom].endswith("\n") or bottom == 0


@pytest.mark.parametrize(
    ("old", "new", "ends"),
    [
        ("a\nb\nc\n", "a\nx\nc\n", (2, 2)),
        ("\nb\n", "a\nb\n", (0, 2)),
        ("a\nb", "a\nxb", (2, 0)),
        ("a\n", "a\na\n", (2, 0)),
        ("", "a\n", (0, 0)),
    ],
)
def test_all_whole_lines_count_that_are_the_same(old: str, new: str, ends: tuple[int, int]) -> None:
    assert equal_ends(old, new) == ends
