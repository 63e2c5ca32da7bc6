"""Pictures among the files, told by their first bytes. Looks at the disk: call in a thread."""

from __future__ import annotations

import os
import stat
from base64 import b64encode
from dataclasses import dataclass

from pilothouse_agent.kernel.messages import ImageBlock

__all__ = ["MAX_IMAGE", "Image", "find_image"]

MAX_IMAGE = 3_750_000
"""Bytes of a picture that is sent along; 5 MB as base64, which is what providers take."""

_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", b"", "image/png"),
    (b"\xff\xd8\xff", b"", "image/jpeg"),
    (b"GIF87a", b"", "image/gif"),
    (b"GIF89a", b"", "image/gif"),
    (b"RIFF", b"WEBP", "image/webp"),
)


@dataclass(frozen=True, slots=True)
class Image:
    media_type: str
    size: int
    block: ImageBlock | None
    """None when it is too large to be sent."""


def find_image(path: str) -> Image | None:
    """None for everything that is not a picture in a regular file."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return None
        with open(path, "rb") as file:
            head = file.read(16)
            media_type = _media_type(head)
            if media_type is None:
                return None
            size = os.fstat(file.fileno()).st_size
            if size > MAX_IMAGE:
                return Image(media_type, size, None)
            data = head + file.read(MAX_IMAGE)
    except OSError:
        return None
    return Image(media_type, len(data), ImageBlock(media_type, b64encode(data).decode("ascii")))


def _media_type(head: bytes) -> str | None:
    for start, later, media_type in _MAGIC:
        if head.startswith(start) and head[8:].startswith(later):
            return media_type
    return None
