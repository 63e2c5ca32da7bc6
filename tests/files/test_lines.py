"""What a line is, and which line ends a text has."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilothouse_agent.files.lines import count_lines, fit_line_ends, line_at, line_end_of, split_lines


@pytest.mark.covers("F5")
@given(st.text(st.sampled_from("a\n\r\u2028\x0b\x0c\x85"), max_size=20))
def test_lines_joined_are_the_text(text: str) -> None:
    lines = split_lines(text)
    assert "".join(lines) == text
    assert len(lines) == count_lines(text)
    assert all(line and "\n" not in line[:-1] for line in lines)


def test_only_lf_ends_a_line() -> None:
    assert split_lines("a\rb\u2028c\x85d\r\ne") == ["a\rb\u2028c\x85d\r\n", "e"]


def test_a_line_is_found_by_an_index_in_it() -> None:
    assert [line_at("a\nb\n", index) for index in range(5)] == [1, 1, 2, 2, 3]


@pytest.mark.parametrize(
    ("text", "end"),
    [("", None), ("a", None), ("a\rb", None), ("a\n", "\n"), ("a\r\nb\r\n", "\r\n"), ("a\r\nb\n", None)],
)
def test_the_line_end_of_a_text(text: str, end: str | None) -> None:
    assert line_end_of(text) == end


@pytest.mark.parametrize(
    ("text", "like", "fitted"),
    [
        ("a\nb\n", "x\r\n", "a\r\nb\r\n"),
        ("a\nb\n", "x\n", "a\nb\n"),
        ("a\nb\n", "x\r\ny\n", "a\nb\n"),
        ("a\r\nb\n", "x\r\n", "a\r\nb\n"),
        ("a\rb\n", "x\r\n", "a\rb\n"),
    ],
)
def test_a_text_takes_the_line_ends_of_the_one_it_replaces(text: str, like: str, fitted: str) -> None:
    assert fit_line_ends(text, like) == fitted
