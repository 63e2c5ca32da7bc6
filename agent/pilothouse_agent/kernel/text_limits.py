"""Texts within a limit: whole lines where there are any, never half a character (T10)."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["MAX_BYTES", "MAX_LINES", "Cut", "head_of", "sendable", "tail_of"]

MAX_LINES = 2_000
MAX_BYTES = 51_200

_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Cut:
    """What is left of a text."""

    text: str
    lines: int
    """Whole lines in it."""
    complete: bool
    """Nothing was left out."""


def head_of(text: str, *, lines: int = MAX_LINES, size: int = MAX_BYTES) -> Cut:
    """The first whole lines within both limits; `size` is in bytes of UTF-8.

    Of a first line that is too long by itself, the part that fits, never half a character.
    """
    end = _end_of_lines(text, lines)
    if _size(text[:end]) > size:
        end = len(_decoded(_encoded(text[:end])[:size]))
        end = text.rfind("\n", 0, end) + 1 or end
    return Cut(text[:end], _count(text[:end], whole=end == len(text)), end == len(text))


def tail_of(text: str, *, lines: int = MAX_LINES, size: int = MAX_BYTES) -> Cut:
    """The last whole lines within both limits; of a last line that is too long, the end that fits."""
    start = _start_of_lines(text, lines)
    if _size(text[start:]) > size:
        start = len(text) - len(_decoded(_encoded(text[start:])[-size:]))
        following = text.find("\n", start, len(text) - 1) + 1
        start = start if text[start - 1] == "\n" else following or start
    inside = start > 0 and text[start - 1] != "\n"
    return Cut(text[start:], _count(text[start:], whole=True) - inside, start == 0)


def sendable(text: str) -> str:
    """Unpaired surrogates, which no request can carry, become U+FFFD; lengths in bytes stay."""
    return _SURROGATE.sub("\ufffd", text)


def _end_of_lines(text: str, lines: int) -> int:
    end = 0
    for _ in range(lines):
        found = text.find("\n", end)
        if found < 0:
            return len(text)
        end = found + 1
    return end


def _start_of_lines(text: str, lines: int) -> int:
    start = len(text) - text.endswith("\n")
    for _ in range(lines):
        start = text.rfind("\n", 0, start)
        if start < 0:
            return 0
    return start + 1


def _count(text: str, *, whole: bool) -> int:
    return text.count("\n") + (whole and text != "" and not text.endswith("\n"))


def _size(text: str) -> int:
    return len(_encoded(text))


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _decoded(data: bytes) -> str:
    """Of bytes cut anywhere: what is whole. Surrogates that were in the text stay."""
    start = next((i for i, byte in enumerate(data[:4]) if byte & 0xC0 != 0x80), 0)
    for end in range(len(data), max(len(data) - 4, 0), -1):
        try:
            return data[start:end].decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            continue
    return ""
