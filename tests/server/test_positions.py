"""Positions in the three encodings, against a second reading of the protocol."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pilothouse_server.client.positions import (
    Encoding,
    Places,
    Position,
    index_in,
    lsp_lines,
    offset_at,
    units,
)
from pilothouse_server.documents.line_text import LineText, OutsideText
from support import lsp_model
from support.lsp_texts import ENCODINGS, borders, texts

encodings = st.sampled_from(ENCODINGS)


@settings(deadline=None)
@given(texts, encodings)
def test_every_place_of_a_text_has_its_position_and_the_position_leads_back(
    text: str, encoding: Encoding
) -> None:
    places = Places(text, encoding)
    found = {index: places.position(index) for index in borders(text)}

    assert found == {index: lsp_model.position_of(text, index, encoding) for index in borders(text)}
    assert {i: offset_at(text, position, encoding) for i, position in found.items()} == {i: i for i in found}


@settings(deadline=None)
@given(texts, st.data(), encodings)
def test_places_may_be_asked_in_any_order(text: str, data: st.DataObject, encoding: Encoding) -> None:
    asked = data.draw(st.lists(st.sampled_from(borders(text))))
    places = Places(text, encoding)

    assert [places.position(i) for i in asked] == [lsp_model.position_of(text, i, encoding) for i in asked]


def test_only_the_line_ends_of_the_protocol_end_a_line() -> None:
    text = "a\x0bb\x0cc\x1cd\x1de\x1ef\x85g\u2028h\u2029i\nj\r\nk\rl"

    assert lsp_lines(text) == ["a\x0bb\x0cc\x1cd\x1de\x1ef\x85g\u2028h\u2029i\n", "j\r\n", "k\r", "l"]


@pytest.mark.parametrize(
    ("line", "character", "encoding", "index"),
    [
        ("abc", 99, "utf-16", 3),
        ("abc\r\n", 4, "utf-8", 3),
        ("\U0001f60bx", 1, "utf-16", 0),
        ("\U0001f60bx", 2, "utf-16", 1),
        ("\U0001f60bx", 3, "utf-8", 0),
        ("\U0001f60bx", 4, "utf-8", 1),
        ("\U0001f60bx\n", 9, "utf-32", 2),
        ("\ud83dx", 1, "utf-16", 1),
    ],
)
def test_a_position_past_the_line_is_its_end_and_one_inside_a_character_its_start(
    line: str, character: int, encoding: Encoding, index: int
) -> None:
    assert index_in(line, character, encoding) == index


@pytest.mark.covers("R055")
def test_a_character_outside_the_basic_plane_counts_as_the_encoding_says() -> None:
    assert {encoding: units("x😋é", encoding) for encoding in ENCODINGS} == {
        "utf-8": 7,
        "utf-16": 4,
        "utf-32": 3,
    }


def test_a_position_far_below_the_text_is_its_end() -> None:
    assert offset_at("a\nb", Position(7, 0), "utf-16") == 3


@pytest.mark.slow
@settings(deadline=None)
@given(texts, st.data(), encodings)
def test_changes_make_the_text_that_the_protocol_says(
    text: str, data: st.DataObject, encoding: Encoding
) -> None:
    edited, expected = LineText(text), text
    for _ in range(data.draw(st.integers(1, 6))):
        first, last = sorted(data.draw(st.sampled_from(borders(expected))) for _ in range(2))
        start = lsp_model.position_of(expected, first, encoding)
        end = lsp_model.position_of(expected, last, encoding)
        new = data.draw(texts)
        edited.replace(start, end, new, encoding)
        expected = lsp_model.apply(expected, [(start, end, new)], encoding)

    assert edited.text == expected


@pytest.mark.slow
@settings(deadline=None)
@given(texts, texts, encodings)
def test_a_column_past_the_end_of_each_line_is_clamped(text: str, new: str, encoding: Encoding) -> None:
    for line in range(lsp_model.line_count(text)):
        edited, place = LineText(text), Position(line, 1_000_000)
        edited.replace(place, place, new, encoding)

        assert edited.text == lsp_model.apply(text, [(place, place, new)], encoding)


def test_the_line_behind_the_last_one_is_the_end_of_the_text() -> None:
    edited = LineText("a\nb")
    edited.replace(Position(1, 0), Position(2, 0), "c", "utf-16")

    assert edited.text == "a\nc"


@pytest.mark.parametrize(
    ("start", "end"),
    [
        (Position(3, 0), Position(3, 0)),
        (Position(2, 1), Position(2, 1)),
        (Position(1, 0), Position(0, 0)),
        (Position(0, 1), Position(0, 2)),
    ],
    ids=["too far down", "in the line behind the last", "backwards", "inside a character"],
)
def test_a_range_the_text_does_not_have_is_refused_and_changes_nothing(
    start: Position, end: Position
) -> None:
    edited = LineText("😋\nb")
    with pytest.raises(OutsideText):
        edited.replace(start, end, "x", "utf-16")

    assert edited.text == "😋\nb"
