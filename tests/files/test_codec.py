"""Bytes to text and back: what is read, what is refused, what is kept."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilothouse_agent.files.codec import NotText, decode, encode
from pilothouse_agent.kernel.ports import FileText
from pilothouse_agent.kernel.tooling import ToolError

SHIFT_JIS = "# -*- coding: shift_jis -*-\n名前 = 1\n".encode("shift_jis")


def encoded(text: str, like: FileText | None = None) -> bytes:
    return encode(text, like, "/a")[1]


@pytest.mark.covers("F5", "R041", "R044")
@pytest.mark.parametrize(
    ("data", "file"),
    [
        (b"", FileText("/a", "", "utf-8")),
        ("é😋\n".encode(), FileText("/a", "é😋\n", "utf-8")),
        (codecs.BOM_UTF8 + b"hi", FileText("/a", "hi", "utf-8", codecs.BOM_UTF8)),
        (codecs.BOM_UTF16_LE + b"h\0i\0", FileText("/a", "hi", "utf-16-le", codecs.BOM_UTF16_LE)),
        (codecs.BOM_UTF16_BE + b"\0h\0i", FileText("/a", "hi", "utf-16-be", codecs.BOM_UTF16_BE)),
        (SHIFT_JIS, FileText("/a", SHIFT_JIS.decode("shift_jis"), "shift_jis")),
        (b'<?xml encoding="iso-8859-1"?>\xe9', FileText("/a", '<?xml encoding="iso-8859-1"?>é', "iso8859-1")),
    ],
)
def test_text_is_read_in_its_encoding_and_comes_back_byte_for_byte(data: bytes, file: FileText) -> None:
    assert decode(data, "/a") == file
    assert encode(file.text, file, "/a") == (file, data)


@pytest.mark.covers("F5", "R040", "K108")
@given(
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40),
    st.sampled_from(["utf-8", "utf-16-le", "utf-16-be"]),
)
def test_every_text_survives(text: str, encoding: str) -> None:
    mark = {"utf-16-le": codecs.BOM_UTF16_LE, "utf-16-be": codecs.BOM_UTF16_BE}.get(encoding, codecs.BOM_UTF8)
    data = mark + text.encode(encoding)
    file = decode(data, "/a")
    assert file.text == text
    assert encoded(file.text, file) == data


@pytest.mark.covers("F5")
@given(st.binary(max_size=40))
def test_bytes_are_either_refused_or_come_back_the_same(data: bytes) -> None:
    try:
        file = decode(data, "/a")
    except NotText:
        return
    assert encoded(file.text, file) == data


@pytest.mark.covers("F5")
@pytest.mark.parametrize(
    "data", [b"a\xed\xa0\x80b\n", codecs.BOM_UTF16_LE + b"a\0\x00\xd8b\0"], ids=["utf-8", "utf-16"]
)
def test_unpaired_surrogates_survive_a_change_elsewhere(data: bytes) -> None:
    file = decode(data, "/a")
    assert file.text.startswith("a\ud800b")
    assert decode(encoded(file.text + "c", file), "/a").text == file.text + "c"


@pytest.mark.covers("F5", "R043", "K112")
@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"a\0b", "it holds NUL bytes"),
        (codecs.BOM_UTF16_LE + b"\0\0a\0", "it holds NUL characters"),
        (codecs.BOM_UTF32_LE + "a".encode("utf-32-le"), "it holds NUL characters"),
        (codecs.BOM_UTF16_LE + b"a", "the mark of utf-16-le and is not valid in it"),
        ("é\n名前\n".encode("shift_jis", "replace"), "byte 0x96 in line 2 is not UTF-8"),
        (b"coding: utf-8\n\xff", "byte 0xff in line 2 is not UTF-8"),
        (b"\n\xff", "^/a cannot be read .* byte 0xff in line 2 is not UTF-8"),
        (b"coding: cp932\n\x87\x90", "byte 0x87 in line 2 is not UTF-8"),
        (b"coding: no-such\n\xff", "byte 0xff in line 2 is not UTF-8"),
        (b"coding: rot13\n\xff", "byte 0xff in line 2 is not UTF-8"),
        (b"coding: utf-7\n\xff", "byte 0xff in line 2 is not UTF-8"),
    ],
)
def test_what_would_be_damaged_is_refused_with_the_reason(data: bytes, reason: str) -> None:
    with pytest.raises(NotText, match=reason):
        decode(data, "/a")


@pytest.mark.covers("R043")
def test_a_character_the_encoding_does_not_have_is_refused() -> None:
    file = decode(SHIFT_JIS, "/a")
    with pytest.raises(
        ToolError,
        match=r"U\+1F60B .* in line 3 of the new text does not exist in shift_jis, the encoding of /a\.",
    ):
        encoded(file.text + "😋", file)


@pytest.mark.covers("R043")
def test_text_the_encoding_has_is_written_in_it() -> None:
    file = decode(SHIFT_JIS, "/a")
    assert encoded(file.text + "漢字\n", file) == SHIFT_JIS + "漢字\n".encode("shift_jis")


def test_a_change_that_takes_the_declaration_away_is_refused() -> None:
    file = decode(SHIFT_JIS, "/a")
    with pytest.raises(ToolError, match="Leave its encoding declaration as it is"):
        encoded("名前 = 1\n", file)


@pytest.mark.parametrize("text", ["a\0b", "a\ud800b"])
def test_a_new_text_that_could_not_be_read_again_is_refused(text: str) -> None:
    with pytest.raises(ToolError, match="Nothing was written"):
        encoded(text)


@pytest.mark.covers("R041")
def test_a_mark_in_the_new_text_is_not_doubled() -> None:
    marked = FileText("/a", "old", "utf-8", codecs.BOM_UTF8)
    assert encoded("\ufeffnew", marked) == codecs.BOM_UTF8 + b"new"
    assert encoded("\ufeffnew") == codecs.BOM_UTF8 + b"new"


def test_a_second_mark_is_text_and_stays() -> None:
    data = codecs.BOM_UTF8 * 2 + b"a"
    file = decode(data, "/a")
    assert file.text == "\ufeffa"
    assert encoded(file.text, file) == data
