"""What the model knows of a file."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilothouse_agent.files.record import CarryingOver, ReadRecord, Spans, add_span, carry_over
from pilothouse_agent.kernel.ports import FileChange, FileText

TEXT = "1\n2\n3\n4\n"
SPANS = st.lists(st.tuples(st.integers(1, 12), st.integers(1, 12)), max_size=6)


def spans_of(numbers: set[int]) -> Spans:
    spans: Spans = ()
    for number in numbers:
        spans = add_span(spans, number, number)
    return spans


def numbers_of(spans: Spans) -> set[int]:
    return {number for first, last in spans for number in range(first, last + 1)}


@pytest.mark.covers("F3")
def test_reads_add_up_until_all_lines_are_known() -> None:
    record = ReadRecord()
    record.note("/a", TEXT, ((3, 4),))
    assert record.unread("/a", TEXT) == "only lines 3-4 of its 4 lines have been read. Read the rest"
    record.note("/a", TEXT, ((1, 2),))
    assert record.unread("/a", TEXT) is None


@pytest.mark.covers("F3", "R007")
def test_a_file_never_read_is_unknown() -> None:
    assert ReadRecord().unread("/a", TEXT) == "it exists and has not been read. Read it"


@pytest.mark.covers("F3", "R004")
def test_another_text_is_unknown_and_a_text_that_comes_back_is_known() -> None:
    record = ReadRecord()
    record.note("/a", TEXT, ((1, 4),))
    assert record.unread("/a", TEXT + "5\n") == "it has changed since it was read. Read it again"
    assert record.unread("/a", "1\n2\n3\n") == "it has changed since it was read. Read it again"
    assert record.unread("/a", TEXT) is None


@pytest.mark.covers("F3")
def test_an_empty_text_holds_nothing_to_be_known() -> None:
    assert ReadRecord().unread("/a", "") is None


def test_what_is_known_moves_with_the_file() -> None:
    record = ReadRecord()
    record.note("/a", TEXT, ((1, 4),))
    record.note("/b", "other", ((1, 1),))
    record.move("/a", "/b")
    assert record.unread("/b", TEXT) is None
    assert record.known("/b", "other") == ()
    assert record.known("/a", TEXT) == ()


@pytest.mark.covers("T7")
def test_a_doubt_ends_with_the_next_read_and_what_was_known_before_is_gone() -> None:
    record = ReadRecord()
    record.note("/a", TEXT, ((1, 4),))
    record.doubt("/a")
    assert record.in_doubt("/a")
    record.note("/a", TEXT, ((1, 1),))
    assert not record.in_doubt("/a")
    assert record.known("/a", TEXT) == ((1, 1),)


def test_only_the_latest_texts_of_a_file_are_remembered() -> None:
    record = ReadRecord()
    texts = [f"{number}\n" for number in range(20)]
    for text in texts:
        record.note("/a", text, ((1, 1),))
    assert [record.known("/a", text) != () for text in texts] == [False] * 4 + [True] * 16


@pytest.mark.covers("F3")
def test_after_an_edit_the_known_lines_and_the_written_ones_are_known() -> None:
    after = "1\nnew\nnewer\n3\n4\n"
    assert carry_over(((4, 4),), TEXT, after) == ((2, 3), (5, 5))
    assert carry_over(((1, 4),), TEXT, after) == ((1, 5),)
    assert carry_over((), TEXT, "") == ()


@given(SPANS)
def test_spans_hold_the_numbers_that_were_added_in_the_shortest_form(added: list[tuple[int, int]]) -> None:
    spans: Spans = ()
    for first, last in added:
        spans = add_span(spans, first, last)
    assert numbers_of(spans) == {number for first, last in added for number in range(first, last + 1)}
    assert all(left[1] + 1 < right[0] for left, right in pairwise(spans))


@pytest.mark.covers("F3")
@given(st.lists(st.tuples(st.sampled_from(["keep", "drop", "new"]), st.booleans()), max_size=12))
def test_of_the_lines_that_stay_those_are_known_that_were(lines: list[tuple[str, bool]]) -> None:
    old = [(f"{index}\n", known) for index, (what, known) in enumerate(lines) if what != "new"]
    new = [
        (f"{index}{what}\n" if what == "new" else f"{index}\n", known or what == "new")
        for index, (what, known) in enumerate(lines)
        if what != "drop"
    ]
    before, after = ("".join(line for line, _ in side) for side in (old, new))
    known = spans_of({number for number, (_, known) in enumerate(old, start=1) if known})
    expected = spans_of({number for number, (_, known) in enumerate(new, start=1) if known})
    assert carry_over(known, before, after) == expected


@pytest.mark.covers("F3")
def test_a_change_tells_what_will_be_known_of_just_the_text_it_made_last() -> None:
    record = ReadRecord()
    record.note("/a", TEXT, ((2, 3),))
    change = CarryingOver(
        record, "/a", lambda file: file.text.replace("3", "a\nb") if file else "", whole=False
    )
    change(FileText("/a", "elsewhere\n3\n", "utf-8"))
    made = change(FileText("/a", TEXT, "utf-8"))

    def as_made(before: str, after: str) -> Spans | None:
        return change.known(FileChange("/a", "modify", "editor", before, after))

    assert made == "1\n2\na\nb\n4\n"
    assert as_made(TEXT, made) == ((2, 4),)
    assert as_made(TEXT, "1\n2\na\nb\nc\n4\n") is None
    assert as_made("elsewhere\n3\n", "elsewhere\na\nb\n") is None


@pytest.mark.covers("F3")
def test_of_a_text_that_the_model_writes_whole_all_will_be_known() -> None:
    change = CarryingOver(ReadRecord(), "/a", lambda _: TEXT, whole=True)

    assert change.known(FileChange("/a", "create", "editor", None, change(None))) == ((1, 4),)


@pytest.mark.covers("F3", "R307")
def test_parts_of_a_text_add_up_while_they_stand_where_they_were_read() -> None:
    record = ReadRecord()
    record.note_part("/a", 1, "one\ntwo\n")
    record.note_part("/a", 4, "four\n")
    seen = record.known("/a", "one\ntwo\nthree\nfour\n")
    moved = record.known("/a", "one\ntwo\nthree\nand more\nfour\n")
    record.note_part("/a", 3, "three\n")

    assert (seen, moved) == (((1, 2), (4, 4)), ((1, 2),))
    assert record.unread("/a", "one\ntwo\nthree\nfour\n") is None
    assert record.unread("/a", "other\n") == "it has changed since it was read. Read it again"


@pytest.mark.covers("F3", "R307")
def test_parts_go_with_a_file_that_is_moved_and_are_forgotten_with_it() -> None:
    record = ReadRecord()
    record.note_part("/a", 1, "one\n")
    record.move("/a", "/b")
    moved = (record.known("/a", "one\n"), record.known("/b", "one\n"))
    record.forget("/b")

    assert (moved, record.known("/b", "one\n")) == (((), ((1, 1),)), ())


@pytest.mark.covers("F3", "R307")
def test_the_oldest_of_very_many_parts_are_forgotten() -> None:
    record = ReadRecord()
    text = "".join(f"{number}\n" for number in range(1, 1_003))
    for number in range(1, 1_003):
        record.note_part("/a", number, f"{number}\n")

    assert record.known("/a", text) == ((3, 1_002),)
