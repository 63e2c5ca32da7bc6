from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pilothouse_server.wire.frames import FrameError, FrameParser, frame


def cut(data: bytes, pieces: list[int], **limits: int) -> tuple[list[bytes], str | None]:
    """The bodies, and what broke the stream; `pieces` are the lengths it comes in, over and over."""
    parser = FrameParser(**limits)
    bodies: list[bytes] = []
    position, turn = 0, 0
    try:
        while position < len(data):
            length = pieces[turn % len(pieces)]
            parser.push(data[position : position + length])
            bodies += parser.bodies()
            position, turn = position + length, turn + 1
    except FrameError as error:
        return bodies, str(error)
    return bodies, None


names = st.sampled_from(["Content-Length", "content-length", "CONTENT-LENGTH", " Content-Length"])
line_ends = st.sampled_from(["\r\n", "\n"])
others = st.lists(
    st.sampled_from(["Content-Type: x; charset=utf-8", "junk", "a: b: c", ":", "\t"]), max_size=3
)
bodies = st.one_of(
    st.binary(max_size=40), st.sampled_from([b"Content-Length: 5\r\n\r\nhello", b"\r\n\r\n", b"\n"])
)


@st.composite
def framed(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """A body, and it in one of its frames."""
    body, end = draw(bodies), draw(line_ends)
    before, after = draw(others), draw(others)
    length = f"{draw(names)}:{draw(st.sampled_from(['', ' ', '  ']))}{len(body)}"
    blanks = draw(st.integers(0, 3)) * draw(line_ends)
    return body, (blanks + end.join([*before, length, *after, "", ""])).encode() + body


@given(st.lists(framed(), max_size=5), st.lists(st.integers(1, 30), min_size=1, max_size=5))
@example([(b"x" * 70_000, frame(b"x" * 70_000))], [65_536])
@pytest.mark.covers("R184")
def test_however_a_stream_is_cut_the_bodies_are_the_same(
    sent: list[tuple[bytes, bytes]], pieces: list[int]
) -> None:
    assert cut(b"".join(data for _, data in sent), pieces) == ([body for body, _ in sent], None)


broken = st.sampled_from(
    [
        b"Content-Length: -1\r\n\r\n{}",
        b"Content-Length: x\r\n\r\n{}",
        b"Content-Length: \r\n\r\n{}",
        b"Content-Length: 101\r\n\r\n{}",
        b"Content-Length: 1" + b"0" * 30 + b"\r\n\r\n{}",
        b"Content-Type: x\r\n\r\n{}",
        b"}\r\n\r\n{}",
        b"x" * 81 + b"\r\n\r\n",
        b"Content-Length: 2\r\n" + b"x: y\r\n" * 20 + b"\r\n{}",
    ]
)


@given(st.lists(framed(), max_size=3), broken, st.lists(st.integers(1, 30), min_size=1, max_size=5))
def test_however_a_broken_stream_is_cut_it_breaks_in_the_same_place_for_the_same_reason(
    sent: list[tuple[bytes, bytes]], bad: bytes, pieces: list[int]
) -> None:
    data = b"".join(frame(body) for body, _ in sent) + bad
    whole = cut(data, [len(data)], body_limit=100, header_limit=80)

    assert cut(data, pieces, body_limit=100, header_limit=80) == whole
    assert whole[0] == [body for body, _ in sent]
    assert whole[1] is not None


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"Content-Length: -1\r\n\r\n", "Content-Length must be a number of bytes, not b'-1'."),
        (b"Content-Length: ten\r\n\r\n", "Content-Length must be a number of bytes, not b'ten'."),
        (b"Content-Length: 101\r\n\r\n", "A message of 101 bytes; the limit is 100."),
        (
            b"Content-Length: 1" + b"0" * 20 + b"\r\n\r\n",
            f"A message of 1{'0' * 20} bytes; the limit is 100.",
        ),
        (b"Accept: x\r\n\r\n", "A message header without Content-Length."),
        (b"x" * 81, "The message header is longer than 80 bytes."),
    ],
)
def test_a_broken_header_is_said_in_words(data: bytes, reason: str) -> None:
    assert cut(data, [7], body_limit=100, header_limit=80) == ([], reason)


def test_a_flood_of_blank_lines_is_passed_over() -> None:
    assert cut(b"\r\n\n" * 100_000 + frame(b"{}"), [4096]) == ([b"{}"], None)


@pytest.mark.covers("R185")
def test_a_length_counts_bytes() -> None:
    assert frame("😋".encode()) == b"Content-Length: 4\r\n\r\n\xf0\x9f\x98\x8b"
