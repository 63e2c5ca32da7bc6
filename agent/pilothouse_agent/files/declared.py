"""What others say of a file's encoding: its project, its user, its editor."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from functools import lru_cache

__all__ = ["Declared", "declared"]

_MARKED = {"utf-8-bom": codecs.BOM_UTF8, "utf-16-le": codecs.BOM_UTF16_LE, "utf-16-be": codecs.BOM_UTF16_BE}
_OTHER_NAMES = (
    # As VS Code, Emacs and Vim spell what Python's codecs know by another name.
    (re.compile(r"-(?:unix|dos|mac)\Z"), ""),
    (re.compile(r"utf-?8-?(?:bom|with-signature)\Z"), "utf-8-bom"),
    (re.compile(r"utf-?16-?(le|be)(?:-?(?:bom|with-signature))?\Z"), r"utf-16-\1"),
    (re.compile(r"windows-?(\d+)\Z"), r"cp\1"),
    (re.compile(r"iso-?latin-?(\d+)\Z"), r"latin\1"),
    (re.compile(r"iso-?8859-?(\d+)\Z"), r"iso8859-\1"),
    (re.compile(r"(?:japanese-)?(?:shift-?jis|sjis)\Z"), "shift_jis"),
    (re.compile(r"(?:chinese|japanese|korean)-(?:iso-8bit-)?(?=\w)"), ""),
    (re.compile(r"euc-?(jp|kr)\Z"), r"euc_\1"),
    (re.compile(r"koi8-?([rtu])\Z"), r"koi8-\1"),
    (re.compile(r"macroman\Z"), "mac-roman"),
)
_NO_FILE = frozenset(
    {
        "utf-7",
        "idna",
        "punycode",
        "unicode_escape",
        "raw_unicode_escape",
        "undefined",
        "mbcs",
        "oem",
        "palmos",
    }
)
"""Python has them as encodings of text; no file is written in them, or not all of it can be."""


@dataclass(frozen=True, slots=True)
class Declared:
    encoding: str
    """As Python names it."""
    bom: bytes = b""
    """The mark that a new file begins with. A file that is there keeps what it has."""
    by: str = ""
    """Who says so, as a message can go on with it: `the setting files.encodings`."""


@lru_cache(maxsize=256)
def declared(name: str, by: str) -> Declared | None:
    """None for a name that says nothing (`unset`), or that nobody knows as an encoding of text."""
    spelt = name.strip().lower()
    for pattern, plain in _OTHER_NAMES:
        spelt = pattern.sub(plain, spelt)
    mark = _MARKED.get(spelt, b"")
    try:
        found = codecs.lookup("utf-8" if spelt == "utf-8-bom" else spelt).name
        "".encode(found)
    except (LookupError, ValueError, TypeError):
        return None
    if found in _NO_FILE:
        return None
    if found in ("utf-8-sig", "utf-16", "utf-32"):
        return Declared("utf-8", codecs.BOM_UTF8, by) if found == "utf-8-sig" else None
    return Declared(found, mark, by)
