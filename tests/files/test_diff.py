"""Line diffs: what is shown is what differs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilothouse_agent.files.diff import changes, count_changed, diff_file, diff_texts
from pilothouse_agent.files.lines import split_lines
from pilothouse_agent.kernel.tooling import FileDiff, Hunk

NUMBERS = [f"{number}\n" for number in range(1, 21)]
LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "a\r\n", "\n", "d\n"]), max_size=12)


@pytest.mark.covers("R038")
def test_a_hunk_has_three_lines_of_context_and_the_line_ends_as_they_are() -> None:
    old = "1\n2\n3\n4\r\n5\n6\n7\n8\n"
    assert diff_texts(old, old.replace("4\r\n", "four\r\n")) == (
        Hunk(1, 1, (" 1\n", " 2\n", " 3\n", "-4\r\n", "+four\r\n", " 5\n", " 6\n", " 7\n")),
    )


def test_changes_far_apart_are_hunks_of_their_own_with_both_line_numbers() -> None:
    new = ["0\n", *NUMBERS[:14], "fifteen\n", *NUMBERS[15:]]
    hunks = diff_texts("".join(NUMBERS), "".join(new))
    assert [(hunk.old_start, hunk.new_start, len(hunk.lines)) for hunk in hunks] == [(1, 1, 4), (12, 13, 8)]


def test_changes_near_each_other_share_a_hunk() -> None:
    new = [line for line in NUMBERS if line not in ("5\n", "11\n")]
    (hunk,) = diff_texts("".join(NUMBERS), "".join(new))
    assert (hunk.old_start, hunk.new_start, len(hunk.lines)) == (2, 2, 13)


def test_a_missing_final_newline_is_a_difference() -> None:
    assert diff_texts("a\n", "a") == (Hunk(1, 1, ("-a\n", "+a")),)


@pytest.mark.parametrize(
    ("old", "new", "lines"), [(None, "a\nb\n", ("+a\n", "+b\n")), ("a\nb", None, ("-a\n", "-b"))]
)
def test_files_that_come_or_go_are_shown_whole(
    old: str | None, new: str | None, lines: tuple[str, ...]
) -> None:
    assert diff_file("/a", old, new) == FileDiff("/a", old, new, (Hunk(1, 1, lines),))


def test_equal_texts_have_no_hunks() -> None:
    assert diff_texts("a\nb\n", "a\nb\n") == ()


def test_lines_added_and_removed_are_counted() -> None:
    assert count_changed(diff_texts("a\nb\nc\n", "a\nB\nB2\nc\n")) == (2, 1)


def test_a_few_changes_in_a_large_file_are_found_line_by_line() -> None:
    old = [f"line {number}\n" if number % 3 else "\n" for number in range(20_000)]
    new = [*old]
    new[100], new[19_900] = "changed\n", "changed too\n"
    assert changes(old, new) == [(100, 101, 100, 101), (19_900, 19_901, 19_900, 19_901)]


def test_many_equal_lines_cost_no_time() -> None:
    old, new = ["\n"] * 20_000, ["x\n", *["\n"] * 10_000, "y\n"]
    assert changes(old, new) == [(0, 20_000, 0, 10_002)]


@given(LINES, LINES)
def test_old_lines_with_the_changes_made_are_the_new_lines(old: list[str], new: list[str]) -> None:
    made: list[str] = []
    done = 0
    for change in changes(old, new):
        assert old[change.old_start : change.old_end] != new[change.new_start : change.new_end]
        made += old[done : change.old_start] + new[change.new_start : change.new_end]
        done = change.old_end
    assert made + old[done:] == new


@given(LINES, LINES)
def test_hunks_can_be_applied(old: list[str], new: list[str]) -> None:
    made = [*old]
    for hunk in reversed(diff_texts("".join(old), "".join(new))):
        before = [line[1:] for line in hunk.lines if line[0] != "+"]
        after = [line[1:] for line in hunk.lines if line[0] != "-"]
        assert made[hunk.old_start - 1 : hunk.old_start - 1 + len(before)] == before
        made[hunk.old_start - 1 : hunk.old_start - 1 + len(before)] = after
        assert new[hunk.new_start - 1 : hunk.new_start - 1 + len(after)] == after
    assert split_lines("".join(made)) == new
