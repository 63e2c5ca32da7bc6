"""Files that an editor would ruin are seen before they are edited."""

from __future__ import annotations

import pytest

from pilothouse_server.edits.round_trip import round_trip_fault

WRONG_ENCODING = (
    "The editor shows characters of a.py as U+FFFD that are others on disk: it has read the file in a wrong "
    "encoding and would ruin it in saving. Nothing was changed. Reopen it in its own encoding."
)
UNREADABLE = (
    "a.py cannot be read as text that could be written back unchanged: byte 0xe9 in line 2 is not UTF-8, and "
    "the file declares no other encoding that fits. Name its encoding in .editorconfig (charset) or in the "
    "setting files.encodings, or convert it to UTF-8 first if it may be changed, for example with iconv."
)


@pytest.mark.covers("F5")
@pytest.mark.parametrize(
    ("text", "data", "fault"),
    [
        ("é\n", "é\n".encode(), None),
        ("typed\n", "é\n".encode(), None),
        ("\ufffd\n", "\ufffd\n".encode(), None),
        ("new\n", None, None),
        ("\ufffd\n", None, WRONG_ENCODING),
        ("\ufffd\ufffd\n", "\ufffdx\n".encode(), WRONG_ENCODING),
        ("# coding: latin-1\né\n", b"# coding: latin-1\n\xe9\n", None),
        ("# coding: latin-1\n\ufffd\n", b"# coding: latin-1\n\xe9\n", WRONG_ENCODING),
        ("a\né\n", b"a\n\xe9\n", UNREADABLE),
        ("a\n\ufffd\n", b"a\n\xe9\n", UNREADABLE),
        ("é\n", b"\xff\xfe" + "é\n".encode("utf-16-le"), None),
    ],
)
def test_a_file_is_refused_that_editing_would_damage(
    text: str, data: bytes | None, fault: str | None
) -> None:
    assert round_trip_fault(text, data, shown="a.py") == fault
