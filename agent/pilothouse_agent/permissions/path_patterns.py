"""Patterns for paths, as in ignore files."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["compile_pattern"]


def compile_pattern(pattern: str, *, folders: Sequence[str], home: str, ignore_case: bool) -> re.Pattern[str]:
    """For `fullmatch` on absolute paths. What matches a folder matches everything below it.

    Without a slash it matches a name at any depth; with one it begins at a workspace folder, at the
    home folder (`~/`) or at the root (`/`); `**` stands for any folders. Raises `ValueError`.
    """
    pattern = pattern.rstrip("/") or "/"
    if pattern == "~" or pattern.startswith("~/"):
        source = _translated(home + pattern[1:])
    elif pattern.startswith("/"):
        source = _translated(pattern.rstrip("/"))
    elif pattern.startswith("**/") or "/" not in pattern:
        source = "/(?:[^/]+/)*" + _translated(pattern.removeprefix("**/"))
    else:
        anchors = "|".join(re.escape(folder.rstrip("/")) for folder in folders)
        source = f"(?:{anchors})/" + _translated(pattern.removeprefix("./"))
    try:
        return re.compile(f"{source}(?:/.*)?", re.DOTALL | (re.IGNORECASE if ignore_case else 0))
    except re.error:
        raise ValueError("a range of characters in it runs backwards") from None


def _translated(pattern: str) -> str:
    parts = pattern.split("/")
    last = len(parts) - 1
    translated = ""
    for index, part in enumerate(parts):
        if part == "**":
            translated += ".*" if index == last else "(?:[^/]+/)*"
        else:
            translated += _segment(part) + ("" if index == last else "/")
    return translated


def _segment(part: str) -> str:
    pieces = re.split(r"(\*+|\?|\[[!^]?\]?[^\]]*\])", part)
    return "".join(_piece(piece) for piece in pieces)


def _piece(piece: str) -> str:
    if piece.startswith("*"):
        return "[^/]*"
    if piece == "?":
        return "[^/]"
    if piece.startswith("[") and len(piece) > 2:
        negated = piece[1] in "!^"
        inner = re.escape(piece[2:-1] if negated else piece[1:-1]).replace("\\-", "-")
        return f"[^/{inner}]" if negated else f"[{inner}]"
    return re.escape(piece)
