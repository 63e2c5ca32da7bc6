"""Edits that make one text into another, applied by a second reading of the protocol."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pilothouse_server.client.positions import Encoding, Position
from pilothouse_server.edits.text_edits import (
    TextEdit,
    in_own_line_ends,
    text_edits,
    workspace_edit,
)
from support import lsp_model
from support.lsp_texts import ENCODINGS, texts

encodings = st.sampled_from(ENCODINGS)
Flat = tuple[tuple[int, int], tuple[int, int], str]

few = st.lists(st.sampled_from(["a\n", "b\n", "\n", "a\r\n", "\r\n", "\r", "b", "\U0001f60b\n"]), max_size=8)


def flat(edits: tuple[TextEdit, ...]) -> list[Flat]:
    return [((e.start.line, e.start.character), (e.end.line, e.end.character), e.new_text) for e in edits]


def triples(edits: tuple[TextEdit, ...]) -> list[tuple[Position, Position, str]]:
    return [(edit.start, edit.end, edit.new_text) for edit in edits]


@pytest.mark.slow
@settings(deadline=None)
@given(texts | few.map("".join), texts | few.map("".join), encodings)
@example("line\n" * 3000, "line\n" * 1500 + "\r" + "line\n" * 1501, "utf-8")
@example("a\n\n", "a\n\n\n", "utf-8")
@example("a\r\nb\n", "a\r\n", "utf-16")
@example("\r\n", "\r", "utf-32")
def test_the_edits_make_exactly_the_new_text(old: str, new: str, encoding: Encoding) -> None:
    edits = text_edits(old, new, encoding)

    assert lsp_model.apply(old, triples(edits), encoding) == new
    assert (edits == ()) == (old == new)


@settings(deadline=None)
@given(texts | few.map("".join), texts | few.map("".join), encodings)
def test_edits_are_in_order_apart_and_begin_before_the_last_line_end(
    old: str, new: str, encoding: Encoding
) -> None:
    edits = text_edits(old, new, encoding)

    assert all(edit.start <= edit.end for edit in edits)
    assert all(one.end < other.start for one, other in pairwise(edits))
    if old.endswith(("\n", "\r")):
        assert all(edit.start.line < lsp_model.line_count(old) - 1 for edit in edits)


@settings(deadline=None)
@given(few, st.data(), encodings)
def test_lines_that_stay_are_in_no_edit(lines: list[str], data: st.DataObject, encoding: Encoding) -> None:
    numbered = [f"{number}: {line}\n" for number, line in enumerate("".join(lines).splitlines())]
    kept = sorted(data.draw(st.sets(st.integers(0, max(len(numbered) - 1, 0)))))
    changed = [line if n in kept else f"new {n}\n" for n, line in enumerate(numbered)]

    touched = {edit.start.line for edit in text_edits("".join(numbered), "".join(changed), encoding)}

    assert touched == set(range(len(numbered))) - set(kept)


@pytest.mark.covers("R055")
@pytest.mark.parametrize(("encoding", "column"), [("utf-8", 17), ("utf-16", 13), ("utf-32", 11)])
def test_behind_an_emoji_the_range_is_exactly_what_changes(encoding: Encoding, column: int) -> None:
    edits = text_edits('x = "😋😋" + y\n', 'x = "😋😋" + z\n', encoding)

    assert flat(edits) == [((0, column), (0, column + 1), "z")]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("a\n", "a\nx\n", [((0, 1), (0, 1), "\nx")]),
        ("a\r\n", "a\r\nx\r\n", [((0, 1), (0, 1), "\r\nx")]),
        ("a\nb\n", "a\n", [((0, 1), (1, 1), "")]),
        ("a\n", "a\nb", [((0, 1), (1, 0), "\nb")]),
        ("a", "a\nb", [((0, 1), (0, 1), "\nb")]),
        ("a\nb", "a\nb\n", [((1, 1), (1, 1), "\n")]),
        ("", "x\n", [((0, 0), (0, 0), "x\n")]),
        ("\n", "x\n", [((0, 0), (0, 0), "x")]),
        ("a\nb\n", "", [((0, 0), (2, 0), "")]),
        ("a\r\nb\r\n", "a\nb\n", [((0, 1), (1, 0), "\n"), ((1, 1), (2, 0), "\n")]),
    ],
)
def test_at_the_end_of_a_text_editors_are_given_what_they_take_alike(
    old: str, new: str, expected: list[Flat]
) -> None:
    assert flat(text_edits(old, new, "utf-16")) == expected


def test_as_many_lines_for_as_many_leave_the_line_ends_out() -> None:
    old, new = "a1\r\nb1\nc\n", "a2\r\nb2\nc\n"

    assert flat(text_edits(old, new, "utf-16")) == [((0, 1), (0, 2), "2"), ((1, 1), (1, 2), "2")]


def test_a_large_text_with_little_change_gives_little() -> None:
    lines = [f"line {number}\n" for number in range(5000)]
    changed = [*lines[:2500], "line two\n", *lines[2501:]]

    assert flat(text_edits("".join(lines), "".join(changed), "utf-8")) == [((2500, 5), (2500, 9), "two")]


@pytest.mark.covers("R056")
def test_the_workspace_edit_is_one_document_by_its_own_name_with_a_version_that_counts() -> None:
    edits = text_edits("a\n", "b\n", "utf-16")

    def wire(version: int) -> dict[str, Any]:
        span = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}}
        document = {"uri": "file:///p%72oj/a", "version": version}
        return {"documentChanges": [{"textDocument": document, "edits": [{"range": span, "newText": "b"}]}]}

    assert workspace_edit("file:///p%72oj/a", 7, edits) == wire(7)
    assert workspace_edit("file:///p%72oj/a", 0, edits) == wire(1)
    assert workspace_edit("file:///p%72oj/a", 0, edits, least_version=0) == wire(0)


@pytest.mark.parametrize(
    ("text", "like", "expected"),
    [
        ("a\nb\n", "x\r\ny\r\n", "a\r\nb\r\n"),
        ("a\r\nb\r\n", "x\n", "a\nb\n"),
        ("a\r\nb\n", "x", "a\nb\n"),
        ("a\r\nb\n", "x\r\ny\n", "a\r\nb\n"),
        ("a\nb", "x\ry\r", "a\rb"),
    ],
)
def test_new_text_takes_the_line_ends_of_its_document(text: str, like: str, expected: str) -> None:
    assert in_own_line_ends(text, like) == expected
