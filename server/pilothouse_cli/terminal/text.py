"""Text as it fits on a terminal: nothing in it acts, widths are in columns, numbers are for people."""

from __future__ import annotations

import re
import unicodedata

from pilothouse_agent.tools.visible import visible

__all__ = ["clip", "columns", "count", "duration", "last_line", "one_line", "prose"]

# What can move the cursor, recolour or reorder; joiners and variation selectors are part of good prose.
_ACTING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def prose(text: str) -> str:
    """What the model says, over many lines, with everything that acts on a terminal as an escape."""
    return _ACTING.sub(lambda match: visible(match[0]), text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    """Text on one line: blanks and line ends run together, the rest made visible."""
    return visible(" ".join(text.split()))


def last_line(text: str) -> str:
    """The last line of it that is not blank, made visible."""
    for line in reversed(re.split(r"[\r\n]+", text)):
        if line.strip():
            return visible(line.strip())
    return ""


def columns(text: str) -> int:
    return len(text) if text.isascii() else sum(_width(char) for char in text)


def clip(text: str, width: int) -> str:
    """At most `width` columns, with a mark where something was left out."""
    if columns(text) <= width:
        return text
    kept: list[str] = []
    used = 1
    for char in text:
        used += _width(char)
        if used > width:
            break
        kept.append(char)
    return "".join(kept) + "…"


def duration(milliseconds: float) -> str:
    if milliseconds < 100:
        return f"{milliseconds:.0f} ms"
    seconds = milliseconds / 1000
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


def count(number: int, noun: str) -> str:
    """`1 turn`, `2 turns`, `12,345 tokens`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _width(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) in ("Cf", "Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
