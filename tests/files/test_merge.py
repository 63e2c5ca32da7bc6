"""Two changes of one text, put together or refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilothouse_agent.files.undo.merge import merge

BASE = "a\nb\nc\nd\ne\n"
TEXTS = st.text("ab\n", max_size=12)


@pytest.mark.parametrize(
    ("ours", "theirs", "merged"),
    [
        pytest.param("A\nb\nc\nd\ne\n", "a\nb\nc\nd\nE\n", "A\nb\nc\nd\nE\n", id="far apart"),
        pytest.param("x\n" + BASE, BASE + "y\n", "x\n" + BASE + "y\n", id="at both ends"),
        pytest.param("a\nc\nd\ne\n", "a\nb\nc\ne\n", "a\nc\ne\n", id="lines taken out"),
        pytest.param("a\nB\nc\nd\ne\n", "a\nB\nc\nd\nE\n", "a\nB\nc\nd\nE\n", id="one change made by both"),
        pytest.param("a\nB\nc\nd\ne\n", "a\nX\nc\nd\ne\n", None, id="the same line"),
        pytest.param("a\nB\nc\nd\ne\n", "a\nb\nC\nd\ne\n", None, id="lines that touch"),
        pytest.param("x\n" + BASE, "y\n" + BASE, None, id="two lines at one place"),
        pytest.param("a\nB\nc\nd\ne\n", "a\nx\nb\nc\nd\ne\n", None, id="a line made above a changed one"),
        pytest.param("a\nB\nc\nd\ne\n", "a\nb\nx\nc\nd\ne\n", None, id="a line made below a changed one"),
        pytest.param(
            "a\nB\nc\nd\ne\n", "a\nb\nc\nx\nd\ne\n", "a\nB\nc\nx\nd\ne\n", id="a line made a line away"
        ),
        pytest.param("a\nc\nd\ne\n", "a\nb\nx\nc\nd\ne\n", None, id="a line made where one was taken out"),
        pytest.param("a\nb\nc\nd\ne", "A\nb\nc\nd\ne\n", "A\nb\nc\nd\ne", id="the end of the last line"),
    ],
)
def test_changes_are_put_together_where_they_leave_each_other_alone(
    ours: str, theirs: str, merged: str | None
) -> None:
    assert merge(BASE, ours, theirs) == merge(BASE, theirs, ours) == merged


@given(TEXTS, TEXTS)
def test_a_change_alone_stays_as_it_is(base: str, changed: str) -> None:
    assert (
        merge(base, changed, base) == merge(base, base, changed) == merge(base, changed, changed) == changed
    )


@given(TEXTS, TEXTS, TEXTS)
def test_who_comes_first_makes_no_difference(base: str, ours: str, theirs: str) -> None:
    assert merge(base, ours, theirs) == merge(base, theirs, ours)
