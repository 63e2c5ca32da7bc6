"""URIs that clients spell in their own ways: by what they are compared, and which file they are."""

from __future__ import annotations

import re
from urllib.parse import unquote, urlsplit

from pilothouse_agent.files.uris import uri_to_path

__all__ = ["is_foreign", "is_nameless", "notebook_of", "path_of", "uri_key"]

_CELL = "vscode-notebook-cell"
_NAMELESS = ("untitled", _CELL)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
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
    """None for what is not a file of this machine, such as an unnamed buffer or an old version of a file.

    Some clients do not escape `#` in names, and documents have no fragments.
    """
    whole = uri.replace("#", "%23")
    try:
        return None if urlsplit(whole).query else uri_to_path(whole)
    except ValueError:
        return None


def is_nameless(uri: str) -> bool:
    """Whether it is text of the user's without a file of its own: an unnamed buffer, a cell of a notebook."""
    return uri.partition(":")[0].lower() in _NAMELESS


def is_foreign(uri: str) -> bool:
    """Whether it is shown by the editor but is neither a file of this machine nor text of the user's."""
    return path_of(uri) is None and not is_nameless(uri) and _SCHEME.match(uri) is not None


def notebook_of(uri: str) -> str | None:
    """The path of the notebook of which the document is a cell."""
    scheme, _, rest = uri.partition(":")
    return path_of(f"file:{rest.partition('#')[0]}") if scheme.lower() == _CELL else None
