"""Documents that somebody shows but that are no files: among paths each has one that stands for it."""

from __future__ import annotations

from urllib.parse import quote, unquote

__all__ = ["path_for_uri", "uri_for_path"]

_HEAD = "/document:"


def path_for_uri(uri: str) -> str:
    """Absolute and real, one name below the root, whatever the URI has in it."""
    return _HEAD + quote(uri, safe="", errors="surrogatepass")


def uri_for_path(path: str) -> str | None:
    """None for the path of a file."""
    return unquote(path[len(_HEAD) :], errors="surrogatepass") if path.startswith(_HEAD) else None
