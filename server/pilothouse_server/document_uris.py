"""URIs that clients spell in their own ways: by what they are compared, and which file they are."""

from __future__ import annotations

import re
from urllib.parse import unquote, urlsplit

from pilothouse_agent.files.uris import uri_to_path

__all__ = ["path_of", "uri_key"]

_DRIVE = re.compile(r"/[A-Za-z]:(?=/|$)")


def uri_key(uri: str) -> str:
    """Equal for two spellings of one URI: escapes, the case of a drive letter, `localhost`."""
    scheme, colon, _ = uri.partition(":")
    path = path_of(uri)
    if path is None:
        return scheme.lower() + unquote(uri[len(scheme) :], errors="surrogateescape") if colon else uri
    drive = _DRIVE.match(path)
    return f"file:{path[:3].lower()}{path[3:]}" if drive else f"file:{path}"


def path_of(uri: str) -> str | None:
    """None for what is not a file of this machine, such as an unnamed buffer or an old version of a file."""
    try:
        parts = urlsplit(uri)
        return None if parts.query or parts.fragment else uri_to_path(uri)
    except ValueError:
        return None
