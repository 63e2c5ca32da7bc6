"""Which characters of a path a client escapes in its URIs, as far as it was seen to."""

from __future__ import annotations

import os
import re
from urllib.parse import quote_from_bytes

__all__ = ["UriStyle"]

_USUAL = frozenset("/~!$&'()*+,;=:@-._")
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
_ASCII_OR_NO_TEXT = re.compile("[\x00-\x7f\ud800-\udfff]+")


class UriStyle:
    """What no URI has told is done as most clients do it."""

    def __init__(self) -> None:
        self._plain = _USUAL
        """Characters of ASCII that are left as they are; letters and digits always are."""
        self._plain_beyond_ascii = False
        self._lower = False
        """The digits of escapes."""

    def learn(self, uri: str) -> None:
        """From a `file:` URI as the client spells it; the latest one counts."""
        path = uri.partition(":")[2]
        escapes: list[str] = _ESCAPE.findall(path)
        codes = [int(each, 16) for each in escapes]
        shown = _ESCAPE.sub("", path)
        plain = {char for char in shown if char.isascii() and char.isprintable()}
        escaped = {chr(code) for code in codes if code < 128}
        self._plain = ((self._plain | plain) - escaped - {"%"}) | {"/"}
        if not shown.isascii():
            self._plain_beyond_ascii = True
        elif any(code >= 128 for code in codes):
            self._plain_beyond_ascii = False
        digits = "".join(escapes)
        if digits.lower() != digits.upper():
            self._lower = digits == digits.lower()

    def quoted(self, path: str) -> str:
        """The path as it stands in a URI; names that are not valid UTF-8 keep their bytes."""
        safe = "".join(sorted(self._plain))
        if self._plain_beyond_ascii:
            text = _ASCII_OR_NO_TEXT.sub(lambda found: quote_from_bytes(os.fsencode(found[0]), safe), path)
        else:
            text = quote_from_bytes(os.fsencode(path), safe)
        return _ESCAPE.sub(lambda found: found[0].lower(), text) if self._lower else text
