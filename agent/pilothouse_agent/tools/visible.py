"""Text shown to a person who decides on it: nothing in it can hide or repaint."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["visible"]

_SHORT = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}
_PLAIN = re.compile(r"[ -~]*")
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp", "Zs"})
# Letters and marks that are drawn as nothing or as a blank.
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")


def visible(text: str, *, lines: bool = False) -> str:
    r"""`text` with every control, zero-width, direction and odd blank character as an escape.

    One line (a line feed becomes `\n`); with `lines`, line feeds and tabs stay as they are.
    """
    if _PLAIN.fullmatch(text):
        return text
    kept = "\n\t" if lines else ""
    return "".join(char if char in kept else _shown(char) for char in text)


def _shown(char: str) -> str:
    if char == " " or not _hides(char):
        return char
    if char in _SHORT:
        return _SHORT[char]
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _hides(char: str) -> bool:
    return unicodedata.category(char) in _HIDDEN_CATEGORIES or char in _BLANK or _selects_variation(char)


def _selects_variation(char: str) -> bool:
    return "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef"
