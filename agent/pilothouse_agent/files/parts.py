"""Lines of a large file, at the cost of those lines: it is never held whole. Blocks: call in a thread."""

from __future__ import annotations

import codecs
import os
from collections.abc import Callable
from io import FileIO

from pilothouse_agent.files.codec import NotText, decode
from pilothouse_agent.files.declared import Declared
from pilothouse_agent.files.disk import MAX_SIZE, Disk, Unreadable
from pilothouse_agent.files.explain import file_errors
from pilothouse_agent.kernel.ports import FilePart, FileText
from pilothouse_agent.kernel.tooling import ToolError

__all__ = ["PART_SIZE", "read_part"]

PART_SIZE = 1024 * 1024
"""Bytes of a file from which on only parts of it are read."""

_CHUNK = 256 * 1024
_LONGEST_CHARACTER = 4
_WIDE_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def read_part(
    path: str,
    offset: int,
    size: int,
    *,
    disk: Disk,
    show: Callable[[str], str],
    declared: Declared | None,
) -> FilePart | None:
    """From line `offset` on (from 1; negative: from the end) about `size` bytes.

    None: the file is to be read as a whole, since it is small, or written in two bytes a letter. `path` is
    real. Raises `ToolError`.
    """
    with file_errors(path, show), disk.open(path) as file:
        length = os.fstat(file.fileno()).st_size
        if length <= PART_SIZE:
            return None
        head = file.read(_CHUNK)
        if head.startswith(_WIDE_MARKS) or (declared is not None and declared.encoding.startswith("utf-16")):
            if length > MAX_SIZE:
                raise Unreadable(
                    f"has {length:,} bytes of UTF-16, of which no parts can be read. Convert a copy of "
                    "it with bash (iconv) and read that."
                )
            return None
        if offset < 0:
            start = _line_from_end(file, length, -offset)
        else:
            start = _line(file, offset, length, show(path))
        data = os.pread(file.fileno(), size + _LONGEST_CHARACTER, start)
    ends = start + len(data) >= length
    body = data if ends else _whole(data)
    first = 1 if start == 0 else offset
    shown = f"{show(path)}, from line {first} on,"
    cut = 0 if ends or body.endswith(b"\n") else _LONGEST_CHARACTER - 1
    try:
        text = _decoded(body, path, shown, declared, cut=cut)
    except NotText:
        own = _own_declaration(head, path)
        if own is None or declared is not None:
            raise
        text = _decoded(body, path, shown, own, cut=cut)
    return FilePart(path, text.text, text.encoding, text.bom, first, length, ends)


def _line(file: FileIO, number: int, length: int, shown: str) -> int:
    """Where the line begins."""
    left, done = number - 1, 0
    file.seek(0)
    while left and done < length:
        chunk = file.read(_CHUNK)
        count = chunk.count(b"\n")
        if count >= left:
            place = -1
            for _ in range(left):
                place = chunk.find(b"\n", place + 1)
            done += place + 1
            break
        left -= count
        done += len(chunk) or length
    else:
        if left:
            lines = number - 1 - left + (not _ends_a_line(file, length))
            raise _no_line(shown, lines, number)
    if done >= length:
        raise _no_line(shown, number - 1, number)
    return done


def _no_line(shown: str, lines: int, number: int) -> ToolError:
    return ToolError(f"{shown} has {lines} lines, so none with the number {number}.")


def _ends_a_line(file: FileIO, length: int) -> bool:
    return length == 0 or os.pread(file.fileno(), 1, length - 1) == b"\n"


def _line_from_end(file: FileIO, length: int, number: int) -> int:
    """Where the line begins behind which there are `number` with itself; the first when there are fewer."""
    left = number + _ends_a_line(file, length)
    end = length
    while end:
        start = max(end - _CHUNK, 0)
        chunk = os.pread(file.fileno(), end - start, start)
        count = chunk.count(b"\n")
        if count >= left:
            place = len(chunk)
            for _ in range(left):
                place = chunk.rfind(b"\n", 0, place)
            return start + place + 1
        left -= count
        end = start
    return 0


def _whole(data: bytes) -> bytes:
    """Without the last line, which may be cut; a single line as it is."""
    end = data.rfind(b"\n") + 1
    return data[:end] or data


def _decoded(body: bytes, path: str, shown: str, declared: Declared | None, *, cut: int) -> FileText:
    """Of the last character so many bytes may be there without the others."""
    try:
        return decode(body, path, shown=shown, declared=declared)
    except NotText:
        if not cut:
            raise
        return _decoded(body[:-1], path, shown, declared, cut=cut - 1)


def _own_declaration(head: bytes, path: str) -> Declared | None:
    try:
        return Declared(decode(_whole(head), path).encoding, by="the file itself")
    except NotText:
        return None
