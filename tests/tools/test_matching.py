"""How an edit finds its place, and what it may change."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilothouse_agent.files.lines import split_lines
from pilothouse_agent.kernel.tooling import ToolError
from pilothouse_agent.tools.files.matching import Edit, apply_edits


def edited(text: str, *edits: tuple[str, str]) -> str:
    return apply_edits(text, [Edit(old, new) for old, new in edits], name="a.py")


def refusal(text: str, *edits: Edit) -> str:
    with pytest.raises(ToolError) as caught:
        apply_edits(text, edits, name="a.py")
    return str(caught.value)


@pytest.mark.covers("K109")
def test_a_text_that_stands_once_is_replaced() -> None:
    assert edited("one two three", ("two", "2")) == "one 2 three"


@pytest.mark.covers("K109")
def test_a_text_that_stands_twice_is_refused_with_its_lines() -> None:
    assert refusal("x\ny\nx\n", Edit("x", "z")) == (
        "old_text is in a.py 2 times, in lines 1, 3. Give more lines around the one you mean, or set "
        "replace_all. Nothing was changed."
    )


@pytest.mark.covers("K109")
def test_a_text_that_overlaps_itself_is_not_unique() -> None:
    assert "2 times" in refusal("aaa", Edit("aa", "b"))


def test_replace_all_replaces_every_place() -> None:
    assert apply_edits("x\ny\nx\n", [Edit("x", "z", replace_all=True)]) == "z\ny\nz\n"


@pytest.mark.covers("K109")
def test_a_text_that_is_missing_is_refused() -> None:
    assert refusal("one\n", Edit("zebra", "y")) == (
        "old_text is not in a.py. Nothing like it is there. Read the file to see its text. "
        "Nothing was changed."
    )


def test_a_missing_text_whose_replacement_is_there_hints_at_an_edit_made_before() -> None:
    assert "new_text is there already, in line 2: was this edit made before?" in refusal(
        "one\ntwo lines\n", Edit("1 line", "two lines")
    )


@pytest.mark.covers("K109", "R029")
def test_the_edit_that_failed_is_named() -> None:
    assert refusal("1 2", Edit("1", "one"), Edit("zzz", "y")).startswith(
        "Edit 2 of 2: old_text is not in a.py."
    )


@pytest.mark.covers("K109", "R029")
def test_an_edit_that_changes_nothing_is_called_that() -> None:
    assert refusal("1", Edit("1", "1")) == (
        "This changes nothing: old_text and new_text are the same. Nothing was changed."
    )


def test_an_edit_whose_outcome_is_what_the_file_has_changes_nothing() -> None:
    assert refusal("“a”\n", Edit('"a"', "“a”")) == "This changes nothing: a.py has that text already."


@pytest.mark.covers("K109", "R052")
def test_an_empty_old_text_is_refused() -> None:
    assert refusal("keep", Edit("", "new")).startswith("old_text is empty, which names no place.")


@pytest.mark.covers("K109")
def test_overlapping_edits_are_refused() -> None:
    assert refusal("a\nx y z\n", Edit("y z", "2"), Edit("x y", "1")) == (
        "Edits 1 and 2 overlap in line 2 of a.py. Make them one edit. Nothing was changed."
    )


def test_edits_that_touch_are_both_made() -> None:
    assert edited("abcd", ("cd", "2"), ("ab", "1")) == "12"


@pytest.mark.covers("K109")
def test_edits_are_all_matched_against_the_text_before() -> None:
    assert edited("a b", ("a", "b"), ("b", "a")) == "b a"


@pytest.mark.covers("K108", "R037")
def test_text_with_lf_is_found_in_a_crlf_file_and_gets_its_line_ends() -> None:
    assert edited("a\r\nb\r\nc\r\n", ("a\nb", "a\nB\nB2")) == "a\r\nB\r\nB2\r\nc\r\n"


@pytest.mark.covers("K108")
def test_text_with_crlf_is_found_in_an_lf_file_and_gets_its_line_ends() -> None:
    assert edited("a\nb\n", ("a\r\nb", "A\r\nB")) == "A\nB\n"


def test_a_line_added_in_a_mixed_file_gets_the_line_end_of_its_place() -> None:
    text = "one\r\ntwo\nthree\n"
    assert edited(text, ("one", "one\nmore")) == "one\r\nmore\r\ntwo\nthree\n"
    assert edited(text, ("two", "two\nmore")) == "one\r\ntwo\nmore\nthree\n"


def test_line_ends_named_by_the_model_are_meant() -> None:
    assert edited("a\r\nb\r\n", ("a\r\n", "a\n")) == "a\nb\r\n"


def test_half_a_line_end_is_never_replaced() -> None:
    assert edited("a\r\nb\r\nc\r\n", ("\nb", "")) == "a\r\nc\r\n"


def test_replace_all_works_across_line_ends() -> None:
    text = "a\r\nb\r\na\r\nb\r\n"
    assert apply_edits(text, [Edit("a\nb", "X\nY", replace_all=True)]) == "X\r\nY\r\nX\r\nY\r\n"


@pytest.mark.covers("K108", "R038")
def test_only_the_named_word_changes_among_mixed_line_ends_and_lone_carriage_returns() -> None:
    assert edited("one\r\ntwo\nprog\rress\rdone\n", ("two", "2")) == "one\r\n2\nprog\rress\rdone\n"


@pytest.mark.covers("K110")
def test_trailing_blanks_are_forgiven_and_stay_on_untouched_lines() -> None:
    assert edited("a  \nb\t\nc \n", ("a\nb\nc", "a\nB\nc")) == "a  \nB\nc \n"


@pytest.mark.covers("K110")
def test_a_line_inserted_after_trailing_blanks_leaves_them() -> None:
    assert edited("a  \nb\n", ("a\nb", "a\nx\nb")) == "a  \nx\nb\n"
    assert edited("a\nb  \n", ("a\u00a0\nb", "a\u00a0\nb\nx")) == "a\nb  \nx\n"


@pytest.mark.covers("K110")
def test_a_line_inserted_before_a_blank_line_leaves_its_blanks() -> None:
    assert edited("a\n  \nb", ("a\n\nb", "a\nx\n\nb")) == "a\nx\n  \nb"


def test_a_line_deleted_before_a_blank_line_leaves_its_blanks() -> None:
    assert edited("a\nx\n  \nb", ("a\nx\n\nb", "a\n\nb")) == "a\n  \nb"


@pytest.mark.covers("K110")
def test_typographic_characters_are_forgiven_and_stay_where_both_texts_agree() -> None:
    assert edited("say(“it’s\u00a0on – now”)\n", ('say("it\'s on - now")', 'say("it\'s on - now", 1)')) == (
        "say(“it’s\u00a0on – now”, 1)\n"
    )


@pytest.mark.covers("K110")
def test_an_exact_match_is_preferred_to_a_forgiving_one() -> None:
    assert edited('“a”\n"a"\n', ('"a"', "b")) == "“a”\nb\n"


@pytest.mark.covers("K110")
@pytest.mark.parametrize("replace_all", [False, True])
def test_several_forgiving_matches_are_refused(replace_all: bool) -> None:
    assert refusal("“a”\n“a”\n", Edit('"a"', "b", replace_all)) == (
        "old_text is, apart from line ends, blanks at them, quotes and dashes, in a.py 2 times, "
        "in lines 1, 2. Give more lines around the one you mean, copied exactly. Nothing was changed."
    )


def test_blanks_alone_are_never_matched_forgivingly() -> None:
    assert refusal("a\tb\n", Edit("   ", "x")).startswith("old_text is not in a.py.")


def test_blanks_at_the_end_of_the_wanted_text_match_only_at_the_end_of_a_line() -> None:
    assert edited("foo.bar\nfoo\n", ("foo ", "x")) == "foo.bar\nx\n"


@pytest.mark.covers("R049")
def test_straight_quotes_can_be_made_curly() -> None:
    assert edited("'%s'", ("'%s'", "‘%s’")).encode() == b"\xe2\x80\x98%s\xe2\x80\x99"


@pytest.mark.covers("R050")
def test_indentation_is_never_guessed_and_the_error_shows_it() -> None:
    assert refusal("\tif  x:\n", Edit("    if x:", "    if y:")) == (
        "old_text is not in a.py. The nearest text is in line 1:\n→if··x:\nwhile old_text has:\n····if·x:\n"
        "(→ is a tab, · a blank, ␍ a carriage return.) Copy the text exactly as the file has it. "
        "Nothing was changed."
    )


@pytest.mark.covers("R050")
def test_the_nearest_place_is_the_one_whose_neighbours_agree_too() -> None:
    text = "def f():\n    return 1\n\ndef g():\n    return  1\n"
    assert "The nearest text is in line 4:\ndef·g():\n····return··1\n" in refusal(
        text, Edit("def g():\n    return 1", "x")
    )


def test_the_nearest_place_of_a_misspelt_text_is_found() -> None:
    assert "in line 2:\nreturn·total\n" in refusal("total = 1\nreturn total\n", Edit("return totals", "x"))


@pytest.mark.covers("R053")
@pytest.mark.parametrize("replace_all", [False, True])
def test_the_new_text_is_literal(replace_all: bool) -> None:
    new = r'log("$& $1 \1 \g<0> $$ ok");'
    assert apply_edits('log("done");', [Edit('log("done");', new, replace_all)]) == new


LINE = st.text(st.sampled_from("ab “”'–\t\u00a0\r😋\ufeff\u2028"), max_size=6)
ENDING = st.sampled_from(["\n", "\r\n"])
LINES = st.lists(st.tuples(LINE, ENDING).map("".join), min_size=1, max_size=8)


@pytest.mark.covers("F5", "K108", "K110")
@given(LINES, LINE, st.data())
def test_lines_that_an_edit_does_not_name_stay_as_they_are(
    lines: list[str], tail: str, data: st.DataObject
) -> None:
    parts = split_lines("".join(f"{index}{line}" for index, line in enumerate([*lines, tail])))
    text = "".join(parts)
    first = data.draw(st.integers(0, len(parts) - 1))
    last = data.draw(st.integers(first, len(parts) - 1))
    named = "".join(parts[first : last + 1])
    wanted = data.draw(st.sampled_from([named, named.replace("\r\n", "\n"), named.replace("“", '"')]))
    try:
        new_text = edited(text, (wanted, data.draw(LINE) + "NEW" + data.draw(ENDING)))
    except ToolError:
        return
    head, rest = "".join(parts[:first]), "".join(parts[last + 1 :])
    assert new_text.startswith(head)
    assert new_text.endswith(rest)
    assert "NEW" in new_text[len(head) : len(new_text) - len(rest)]


@pytest.mark.parametrize(
    ("edits", "after"),
    [
        ((("b\n", "B\n"), ("c\n", "x\nc\n")), "a\nB\nx\nc\n"),
        ((("c\n", "x\nc\n"), ("b\n", "B\n")), "a\nB\nx\nc\n"),
        ((("b\n", "b\nx\n"), ("c\n", "C\n")), "a\nb\nx\nC\n"),
        ((("b\n", "b\nx\n"), ("c\n", "y\nc\n")), "a\nb\nx\ny\nc\n"),
        ((("b", "b!"), ("\nc", "\n+c")), "a\nb!\n+c\n"),
    ],
)
def test_an_insertion_next_to_an_edit_is_made_in_its_place(
    edits: tuple[tuple[str, str], ...], after: str
) -> None:
    assert edited("a\nb\nc\n", *edits) == after


def test_an_insertion_within_an_edit_is_refused() -> None:
    told = refusal("a\nb\nc\n", Edit("a\nb\n", "A\nB\n"), Edit("b\n", "x\nb\n"))
    assert told == "Edits 1 and 2 overlap in line 2 of a.py. Make them one edit. Nothing was changed."


@pytest.mark.parametrize(
    ("text", "edit", "after"),
    [
        ("\r\na\r\n", ("a", "a\nb"), "\r\na\r\nb\r\n"),
        ("\r\na", ("a", "a\nb"), "\r\na\r\nb"),
        ("\na", ("a", "a\nb"), "\na\nb"),
        ("a\r\nb\nc\n", ("c", "c\nd"), "a\r\nb\nc\nd\n"),
        ("a\nb\r\nc\r\n", ("b", "b\nx"), "a\nb\r\nx\r\nc\r\n"),
    ],
)
def test_new_lines_end_as_the_line_they_stand_in_or_the_one_before(
    text: str, edit: tuple[str, str], after: str
) -> None:
    assert edited(text, edit) == after
