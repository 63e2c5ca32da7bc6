"""Paths as `file:` URIs and back, without loss for any file name."""

from __future__ import annotations

import os
from urllib.parse import quote_from_bytes, unquote_to_bytes, urlsplit

__all__ = ["path_to_uri", "uri_to_path"]


def path_to_uri(path: str) -> str:
    """`path` is absolute; names that are not valid UTF-8 keep their bytes."""
    return "file://" + quote_from_bytes(os.fsencode(path), safe="/~!$&'()*+,;=:@-._")


def uri_to_path(uri: str) -> str:
    """Raises `ValueError` for what is not a `file:` URI of this machine."""
    parts = urlsplit(uri)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost") or not parts.path.startswith("/"):
        raise ValueError(f"{uri!r} is not the URI of a file on this machine")
    return os.fsdecode(unquote_to_bytes(parts.path))
