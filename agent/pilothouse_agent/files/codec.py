"""Bytes as text and back, byte for byte (kernel.md F5).

UTF-8 with and without a mark, UTF-16 with its mark, and the encoding that a file declares for itself
(as Python, XML, HTML and CSS files do). Nothing is guessed: text in a wrongly guessed encoding reads
well enough to be edited and is damaged by it.
"""

from __future__ import annotations

import codecs
import re
from contextlib import suppress
from dataclasses import replace

from pilothouse_agent.files.lines import line_at
from pilothouse_agent.kernel.ports import FileText
from pilothouse_agent.kernel.tooling import ToolError

__all__ = ["NotText", "decode", "encode"]

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_DECLARED = re.compile(rb"(?:coding|encoding|charset)[ \t]*[=:][ \t]*[\"']?([A-Za-z0-9][-_.A-Za-z0-9]*)")
_DECLARED_WITHIN = 1024
_ASCII = bytes(range(0x20, 0x7F))
_SURROGATE = re.compile("[\ud800-\udfff]")


class NotText(ToolError):
    """The bytes are not text, or not text that could be written back unchanged."""


def decode(data: bytes, path: str, *, shown: str | None = None) -> FileText:
    """Raises `NotText`; `shown` is how its message names the file."""
    shown = shown or path
    mark, encoding = next((item for item in _MARKS if data.startswith(item[0])), (b"", None))
    body = data[len(mark) :]
    if encoding != "utf-16-le" and encoding != "utf-16-be" and b"\0" in body:
        raise NotText(f"{shown} is a binary file (it holds NUL bytes), not text.")
    for candidate in [encoding] if encoding else ["utf-8", *_declared(body)]:
        text = _round_trip(body, candidate)
        if text is not None:
            return _without_nul(FileText(path, text, candidate, mark), shown)
    raise NotText(
        f"{shown} cannot be read as text that could be written back unchanged: {_why(body, encoding)}"
    )


def encode(
    text: str, like: FileText | None, path: str, *, shown: str | None = None
) -> tuple[FileText, bytes]:
    """The file as it will read afterwards, and its bytes, in the encoding and with the mark of `like`.

    Raises `ToolError` when a character does not exist there. A mark in `text` is not doubled.
    """
    shown = shown or path
    file = replace(like, path=path, text=text) if like else FileText(path, text, "utf-8")
    if text.startswith("\ufeff") and not (like and like.text.startswith("\ufeff")):
        file = replace(file, text=text[1:], bom=file.bom or codecs.BOM_UTF8)
    if "\0" in text:
        raise ToolError(
            f"The text for {shown} holds a NUL character, which no text file can. Nothing was written."
        )
    errors = "surrogatepass" if like and _SURROGATE.search(like.text) else "strict"
    try:
        data = file.bom + file.text.encode(file.encoding, errors)
    except UnicodeEncodeError as error:
        raise ToolError(_unencodable(file, error.start, shown)) from None
    if not _reads_as(data, file):
        raise ToolError(
            f"{shown} is written in {file.encoding} because it says so itself; with this change it could "
            "not be read as that any more. Nothing was written. Leave its encoding declaration as it is."
        )
    return file, data


def _reads_as(data: bytes, file: FileText) -> bool:
    try:
        return decode(data, file.path) == file
    except NotText:
        return False


def _declared(body: bytes) -> list[str]:
    found = _DECLARED.search(body[:_DECLARED_WITHIN])
    if not found:
        return []
    name = found[1].decode("ascii")
    try:
        same_for_ascii = _ASCII.decode(name) == _ASCII.decode("ascii")
    except (LookupError, ValueError):
        return []
    return [codecs.lookup(name).name] if same_for_ascii else []


def _round_trip(body: bytes, encoding: str) -> str | None:
    if encoding == "utf-8":
        # What is strictly valid has one way to be written.
        with suppress(UnicodeDecodeError):
            return body.decode("utf-8")
    errors = "surrogatepass" if encoding.startswith("utf") else "strict"
    try:
        text = body.decode(encoding, errors)
        return text if text.encode(encoding, errors) == body else None
    except ValueError:
        return None


def _without_nul(file: FileText, shown: str) -> FileText:
    if "\0" in file.text:
        raise NotText(f"{shown} is a binary file (it holds NUL characters), not text.")
    return file


def _why(body: bytes, encoding: str | None) -> str:
    if encoding and encoding != "utf-8":
        return f"it starts with the mark of {encoding} and is not valid in it."
    start = _first_wrong(body)
    line = body.count(b"\n", 0, start) + 1
    return (
        f"byte 0x{body[start]:02x} in line {line} is not UTF-8, and the file declares no other encoding that "
        "fits. Convert it to UTF-8 first if it may be changed, for example with iconv."
    )


def _first_wrong(body: bytes) -> int:
    try:
        body.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start
    return 0


def _unencodable(file: FileText, index: int, shown: str) -> str:
    character = file.text[index]
    name = f"U+{ord(character):04X}" + ("" if _SURROGATE.match(character) else f" ({character})")
    return (
        f"The character {name} in line {line_at(file.text, index)} of the new text does not exist in "
        f"{file.encoding}, the encoding of {shown}. Nothing was written. Use characters it has, or convert "
        "the file to UTF-8 first."
    )
