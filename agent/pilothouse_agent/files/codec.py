"""Bytes as text and back, byte for byte (kernel.md F5).

UTF-8 with and without a mark, UTF-16 with its mark, the encoding that is declared for a file from outside,
and the one that it declares for itself (as Python, XML, HTML and CSS files do). Nothing is guessed: text in
a wrongly guessed encoding reads well enough to be edited and is damaged by it.
"""

from __future__ import annotations

import codecs
import re
from contextlib import suppress
from dataclasses import replace

from pilothouse_agent.files.declared import Declared
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
_C1 = re.compile(rb"[\x80-\x9f]")
_SURROGATE = re.compile("[\ud800-\udfff]")


class NotText(ToolError):
    """The bytes are not text, or not text that could be written back unchanged."""


def decode(data: bytes, path: str, *, shown: str | None = None, declared: Declared | None = None) -> FileText:
    """Raises `NotText`; `shown` is how its message names the file."""
    shown = shown or path
    mark, encoding = next((item for item in _MARKS if data.startswith(item[0])), (b"", None))
    body = data[len(mark) :]
    for candidate in [encoding] if encoding else _candidates(body, declared):
        text = _round_trip(body, candidate)
        if text is not None:
            return _without_nul(FileText(path, text, candidate, mark), shown)
    if b"\0" in body and not (encoding or "").startswith("utf-16"):
        raise NotText(f"{shown} is a binary file (it holds NUL bytes), not text.")
    raise NotText(
        f"{shown} cannot be read as text that could be written back unchanged: "
        f"{_why(body, encoding, declared)}"
    )


def encode(
    text: str,
    like: FileText | None,
    path: str,
    *,
    shown: str | None = None,
    declared: Declared | None = None,
) -> tuple[FileText, bytes]:
    """The file as it will read afterwards, and its bytes, in the encoding and with the mark of `like`.

    A new file gets those that are declared for it. A mark in `text` is not doubled. Raises `ToolError` when a
    character does not exist there.
    """
    shown = shown or path
    file = replace(like, path=path, text=text) if like else _new(path, text, declared)
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
    if not _reads_as(data, file, declared):
        advice = "Convert it to UTF-8 first." if declared else "Leave its encoding declaration as it is."
        raise ToolError(
            f"{shown} is written in {file.encoding} because {_by(declared)} says so; with this change it "
            f"could not be read as that any more. Nothing was written. {advice}"
        )
    return file, data


def _new(path: str, text: str, declared: Declared | None) -> FileText:
    return (
        FileText(path, text, declared.encoding, declared.bom) if declared else FileText(path, text, "utf-8")
    )


def _by(declared: Declared | None) -> str:
    return declared.by if declared else "it itself"


def _reads_as(data: bytes, file: FileText, declared: Declared | None) -> bool:
    """What has only characters that all encodings share is read as any of them."""
    try:
        found = decode(data, file.path, declared=declared)
    except NotText:
        return False
    return (found.text, found.bom) == (file.text, file.bom)


def _candidates(body: bytes, declared: Declared | None) -> list[str]:
    """What is valid UTF-8 beyond ASCII is that, whatever others say: nothing else looks like it."""
    binary = b"\0" in body
    if declared is None:
        return [] if binary else ["utf-8", *_declared(body)]
    if not _is_like_ascii(declared.encoding):
        return [declared.encoding] if binary else ["utf-8", declared.encoding]
    if binary:
        return []
    named = [declared.encoding]
    if declared.encoding == "iso8859-1" and _C1.search(body):
        # Whoever says latin1 of such a text means what Windows writes: these are no controls but quotes.
        named.insert(0, "cp1252")
    return [*named, "utf-8"] if body.isascii() else ["utf-8", *named, *_declared(body)]


def _is_like_ascii(encoding: str) -> bool:
    try:
        return _ASCII.decode(encoding) == _ASCII.decode("ascii")
    except ValueError:
        return False


def _declared(body: bytes) -> list[str]:
    found = _DECLARED.search(body[:_DECLARED_WITHIN])
    if not found:
        return []
    name = found[1].decode("ascii")
    try:
        return [codecs.lookup(name).name] if _is_like_ascii(name) else []
    except LookupError:
        return []


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


def _why(body: bytes, encoding: str | None, declared: Declared | None) -> str:
    if encoding and encoding != "utf-8":
        return f"it starts with the mark of {encoding} and is not valid in it."
    start = _first_wrong(body)
    line = body.count(b"\n", 0, start) + 1
    if declared is not None:
        said = f", nor does it come back unchanged as {declared.encoding}, which {declared.by} names"
    else:
        said = ", and the file declares no other encoding that fits"
    return (
        f"byte 0x{body[start]:02x} in line {line} is not UTF-8{said}. Name its encoding in .editorconfig "
        "(charset) or in the setting files.encodings, or convert it to UTF-8 first if it may be changed, for "
        "example with iconv."
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
