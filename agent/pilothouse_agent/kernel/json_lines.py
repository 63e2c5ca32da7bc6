"""JSON that other programs read by lines, and people on a terminal."""

from __future__ import annotations

import re

__all__ = ["inert"]

# Controls, marks of direction, joiners, tags and the separators of lines and paragraphs: what ends a line
# for some readers, and what a terminal or an editor acts on. As an escape each is still the same text.
_ACTING = re.compile(
    "[\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\ufeff\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e007f]"
)


def inert(data: bytes) -> bytes:
    """The same JSON with every character in it that acts as an escape."""
    if data.isascii() and b"\x7f" not in data:
        return data
    return _ACTING.sub(lambda match: _escape(match[0]), data.decode("utf-8")).encode("utf-8")


def _escape(char: str) -> str:
    units = char.encode("utf-16-be")
    return "".join(f"\\u{units[index]:02x}{units[index + 1]:02x}" for index in range(0, len(units), 2))
