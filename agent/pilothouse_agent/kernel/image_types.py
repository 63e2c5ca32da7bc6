"""What kind an image is, told by its first bytes."""

from __future__ import annotations

import re

__all__ = ["LOOKED_AT", "media_type_of"]

LOOKED_AT = 12
"""Bytes that tell."""

_BEGINNINGS = {
    "image/png": re.compile(rb"\x89PNG\r\n\x1a\n"),
    "image/jpeg": re.compile(rb"\xff\xd8\xff"),
    "image/gif": re.compile(rb"GIF8[79]a"),
    "image/webp": re.compile(rb"RIFF.{4}WEBP", re.DOTALL),
}


def media_type_of(beginning: bytes) -> str | None:
    """None for what is no image, or one that no model takes."""
    return next((kind for kind, pattern in _BEGINNINGS.items() if pattern.match(beginning)), None)
