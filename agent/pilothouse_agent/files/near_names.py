"""Names that look alike: what a list of files cannot show of them, and the one that was meant."""

from __future__ import annotations

import os
import unicodedata

__all__ = ["listed_name", "looks_alike", "near_path", "telling_name"]

_ALIKE = str.maketrans(
    dict.fromkeys("\u2018\u2019\u201a\u201b\u2032", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u201f\u2033", '"')
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-")
    | dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff", None)
)
_MOST = 10_000


def listed_name(name: str) -> str:
    """As lists of paths show it: on one line, and without bytes that are no text."""
    shown = os.fsencode(name).decode("utf-8", "replace")
    if shown.isprintable():
        return shown
    return "".join(
        char.encode("unicode_escape").decode("ascii") if unicodedata.category(char) == "Cc" else char
        for char in shown
    )


def telling_name(name: str) -> str:
    """With escapes for what looks like something else, or like nothing."""
    return "".join(
        char if char.isascii() or unicodedata.category(char)[0] in "LN" else f"\\u{ord(char):04x}"
        for char in unicodedata.normalize("NFC", listed_name(name))
    )


def looks_alike(one: str, other: str) -> bool:
    return _look(one) == _look(other)


def near_path(path: str) -> str | None:
    """The only one that looks like `path`, where that is not there itself. Blocks."""
    if os.path.lexists(path):
        return None
    folder, name = os.path.split(path)
    if not name:
        return None
    if not os.path.isdir(folder):
        near = near_path(folder)
        if near is None:
            return None
        folder = near
        if os.path.lexists(os.path.join(folder, name)):
            return os.path.join(folder, name)
    try:
        names = os.listdir(folder)[:_MOST]
    except OSError:
        return None
    found = [each for each in names if name in (listed_name(each), telling_name(each))]
    found = found or [each for each in names if looks_alike(each, name)]
    return os.path.join(folder, found[0]) if len(found) == 1 else None


def _look(name: str) -> str:
    plain = unicodedata.normalize("NFKC", listed_name(name).translate(_ALIKE)).translate(_ALIKE)
    return " ".join(plain.split())
