"""The event-stream reader: all line ends, all cuts, nothing lost."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilothouse_agent.models.http.sse import BARE, SseEvent, SseReader


def _read(body: bytes, cut: int | None = None) -> list[tuple[str, bytes]]:
    reader = SseReader()
    size = cut or max(1, len(body))
    events = [event for at in range(0, len(body), size) for event in reader.feed(body[at : at + size])]
    return [(event.name, event.data) for event in (*events, *reader.finish())]


CASES: dict[str, tuple[bytes, list[tuple[str, bytes]]]] = {
    "lf": (b"data: a\n\ndata: b\n\n", [("", b"a"), ("", b"b")]),
    "W1 crlf": (b"data: a\r\n\r\ndata: b\r\n\r\n", [("", b"a"), ("", b"b")]),
    "W1 cr": (b"data: a\r\rdata: b\r\r", [("", b"a"), ("", b"b")]),
    "W1 mixed line ends": (b"data: a\r\n\ndata: b\n\rdata: c\r\n\r\n", [("", b"a"), ("", b"b"), ("", b"c")]),
    "W2 byte order mark": (b"\xef\xbb\xbfdata: a\n\n", [("", b"a")]),
    "W3 no blank after the colon": (b"data:a\n\n", [("", b"a")]),
    "W3 two blanks after the colon": (b"data:  a\n\n", [("", b" a")]),
    "W4 comments between": (b": hi\n\ndata: a\n: ping\ndata: b\n\n:\n\n", [("", b"a\nb")]),
    "W5 several data lines": (b"data: {\ndata: \ndata: }\n\n", [("", b"{\n\n}")]),
    "W8 event names end with their event": (
        b"event: error\ndata: a\n\ndata: b\n\nevent: x\n\ndata: c\n\n",
        [("error", b"a"), ("", b"b"), ("", b"c")],
    ),
    "W8 fields without use": (b"id: 7\nretry: 5\nnonsense\nfoo: bar\n\ndata: a\n\n", [("", b"a")]),
    "W8 no data": (b"\n\nevent: x\n\ndata\n\ndata:\n\ndata: a\n\n", [("", b"a")]),
    "W7 separators that are no line ends": (
        "data: a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg\n\n".encode(),
        [("", "a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg".encode())],
    ),
    "W6 characters of several bytes": ("data: wörld 👋\n\n".encode(), [("", "wörld 👋".encode())]),
    "W9 last blank line missing": (b"data: a\n\ndata: b\n", [("", b"a"), ("", b"b")]),
    "W9 last line not ended": (b"data: a\n\ndata: b", [("", b"a"), ("", b"b")]),
    "an error in a field of its own": (b"data: a\nerror: {}\n\nerror:\n\n", [("", b"a"), ("error", b"{}")]),
    "a bare line of JSON": (b'data: a\n{"b": 1}\n{"c":\n\n', [("", b"a"), (BARE, b'{"b": 1}')]),
    "nothing": (b"", []),
}


@pytest.mark.parametrize("cut", [None, 1, 2, 7], ids=["whole", "1", "2", "7"])
@pytest.mark.parametrize("case", CASES)
def test_events_come_out_whatever_the_line_ends_and_the_cuts(case: str, cut: int | None) -> None:
    body, events = CASES[case]
    assert _read(body, cut) == events


@pytest.mark.covers("W1")
def test_an_event_is_handed_out_with_the_piece_that_ends_it() -> None:
    reader = SseReader()
    assert reader.feed(b"data: a\r\n\r") == [SseEvent("", b"a")]
    assert reader.feed(b"\ndata: b\n\nda") == [SseEvent("", b"b")]


@pytest.mark.covers("W10")
def test_an_event_of_a_megabyte_in_small_pieces_is_read_in_linear_time() -> None:
    line = b"x" * 1_000_000
    assert _read(b"data: " + line + b"\n\n", 3) == [("", line)]


@pytest.mark.covers("W1", "W6")
@given(
    st.lists(
        st.sampled_from([b"data: a", b"data:b", b": c", b"event: d", b"id: e", b"", "data: ü".encode()])
    ),
    st.sampled_from([b"\n", b"\r", b"\r\n"]),
    st.lists(st.integers(0, 200)),
)
def test_any_cut_gives_the_events_of_the_whole(lines: list[bytes], end: bytes, cuts: list[int]) -> None:
    body = b"".join(line + end for line in lines)
    reader = SseReader()
    borders = [0, *sorted(cuts), len(body)]
    pieces = [body[start:stop] for start, stop in pairwise(borders)]
    events = [event for piece in pieces for event in reader.feed(piece)]
    assert [(event.name, event.data) for event in (*events, *reader.finish())] == _read(body)
