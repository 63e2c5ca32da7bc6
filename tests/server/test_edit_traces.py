"""An edit is found in a text that the user has changed too, and never where it is not."""

from __future__ import annotations

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from pilothouse_server.edits.edit_traces import is_absent, stands
from support.lsp_texts import borders, texts

TYPED = "\ue000"
"""What the user types: no text has it."""

BEFORE, WANTED = "1\n2\n3\n4\n", "1\ntwo\n3\n4\n"


@pytest.mark.parametrize(
    ("now", "verdict"),
    [
        (WANTED, (True, False)),
        (BEFORE, (False, True)),
        ("0\n1\ntwo\n3\n4\n5\n", (True, False)),
        ("0\n1\n2\n3\n4\n5\n", (False, True)),
        ("1\ntwo!\n3\n4\n", (True, False)),
        ("1\n2!\n3\n4\n", (False, True)),
        ("1\n!two\n3\n4\n", (True, False)),
        ("1\n!2\n3\n4\n", (False, True)),
        ("1\n!\ntwo\n!\n3\n4\n", (True, False)),
        ("1\n!\n2\n!\n3\n4\n", (False, True)),
        ("1\ntw!o\n3\n4\n", (False, False)),
        ("1\n", (False, False)),
        ("", (False, False)),
    ],
)
def test_typing_beside_the_edit_is_told_from_the_edit(now: str, verdict: tuple[bool, bool]) -> None:
    assert (stands(BEFORE, WANTED, now), is_absent(BEFORE, WANTED, now)) == verdict


@pytest.mark.parametrize(
    ("before", "wanted"),
    [("1\n2\n3\n", "1\n2\n"), ("1\n", ""), ("1\n2\n3\n", "1\n3\n"), ("x\nx\nx\n", "x\nx\n"), ("", "1\n")],
)
def test_lines_that_were_only_taken_away_or_added_are_seen_too(before: str, wanted: str) -> None:
    assert (stands(before, wanted, wanted), is_absent(before, wanted, before)) == (True, True)
    assert (stands(before, wanted, "0\n" + before), is_absent(before, wanted, "0\n" + wanted)) == (
        False,
        False,
    )


@pytest.mark.parametrize("typed", ["9\nnew\n", "new\n9\n"])
def test_a_line_put_in_beside_a_line_put_in_is_told_from_it(typed: str) -> None:
    before, wanted = "1\n2\n", "1\nnew\n2\n"

    assert not is_absent(before, wanted, f"1\n{typed}2\n")
    assert not stands(before, wanted, "1\n9\n2\n")


@given(texts, texts, st.data())
@example("x\nx\n", "x\n", None)
def test_no_typing_makes_an_edit_seem_made_or_seem_absent(
    before: str, wanted: str, data: st.DataObject | None
) -> None:
    assume(before != wanted)
    for text in (before, wanted):
        place = data.draw(st.sampled_from(borders(text))) if data is not None else 0
        typed = text[:place] + TYPED + text[place:]

        assert not (stands if text is before else is_absent)(before, wanted, typed)
