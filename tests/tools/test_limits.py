"""Cutting of tool output: by lines and bytes, never inside a character."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilothouse_agent.tools.limits import Cut, cut_text, head_of, sendable, tail_of

TEXTS = st.text(st.sampled_from("aé😋\n\r\ud800"), max_size=40)


def size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


@pytest.mark.covers("T10")
@pytest.mark.parametrize(
    ("text", "lines", "limit", "head", "tail"),
    [
        ("1\n2\n3\n", 3, 99, Cut("1\n2\n3\n", 3, True), Cut("1\n2\n3\n", 3, True)),
        ("1\n2\n3\n", 2, 99, Cut("1\n2\n", 2, False), Cut("2\n3\n", 2, False)),
        ("1\n2\n3", 2, 99, Cut("1\n2\n", 2, False), Cut("2\n3", 2, False)),
        ("1\n2\n3", 9, 5, Cut("1\n2\n3", 3, True), Cut("1\n2\n3", 3, True)),
        ("1\n2\n3", 9, 4, Cut("1\n2\n", 2, False), Cut("2\n3", 2, False)),
        ("éé\n", 9, 3, Cut("é", 0, False), Cut("é\n", 0, False)),
        ("a\néééé", 9, 4, Cut("a\n", 1, False), Cut("éé", 0, False)),
        ("", 9, 9, Cut("", 0, True), Cut("", 0, True)),
    ],
)
def test_texts_are_cut_at_lines_or_else_at_characters(
    text: str, lines: int, limit: int, head: Cut, tail: Cut
) -> None:
    assert head_of(text, lines=lines, size=limit) == head
    assert tail_of(text, lines=lines, size=limit) == tail


@pytest.mark.covers("T10")
@given(TEXTS, st.integers(1, 6), st.integers(4, 20))
def test_what_is_kept_is_within_both_limits_and_as_much_as_fits(text: str, lines: int, limit: int) -> None:
    head, tail = head_of(text, lines=lines, size=limit), tail_of(text, lines=lines, size=limit)
    assert text.startswith(head.text)
    assert text.endswith(tail.text)
    for cut in (head, tail):
        assert size(cut.text) <= limit
        assert cut.text.count("\n") <= lines
        assert cut.complete == (cut.text == text)
        assert cut.text or not text
    parts = text.splitlines(keepends=True) if "\r" not in text else text.replace("\r", "").splitlines(True)
    if not head.complete and head.lines:
        assert head.text.endswith("\n")
        assert head.lines == lines or size("".join(parts[: head.lines + 1])) + text.count("\r") > limit


@pytest.mark.covers("T10")
def test_a_notice_stands_on_a_line_of_its_own_below_what_was_cut() -> None:
    assert cut_text("1\n2\n", notice="[more]", lines=2) == "1\n2\n"
    assert cut_text("1\n2\n", notice="[more]", lines=1) == "1\n[more]"
    assert cut_text("12345", notice="[more]", size=3) == "123\n[more]"


def test_half_characters_are_replaced_before_sending() -> None:
    assert sendable("a\ud800😋") == "a\ufffd😋"
    assert size(sendable("\ud800")) == size("\ud800")
